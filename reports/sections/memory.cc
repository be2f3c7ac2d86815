// SPDX-License-Identifier: Apache-2.0
// Bytes that each pipeline stage of the best layout holds, against the device's capacity.
#include "sim/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/tables/tables.h"
#include "reports/text/text.h"
#include "sim/json/result_records.h"
#include "sim/layout/stages.h"
#include "sim/memory/memory_parts.h"

namespace meshwright::reports {
namespace {

const Record<StageHolds>& stage_holds_record() {
  return described([](Record<StageHolds>& r) {
    using R = StageHolds;
    r.about("Bytes that a device of a pipeline stage holds.");
    r.row<&R::stage>(IntRange{.low = 0});
    r.row<&R::num_layers>(IntRange{.low = 0});
    r.written_if([](const R& stage) { return stage.num_layers.has_value(); });
    r.rows_of(stage_memory_record());
    r.named("StageHolds").all_required();
  });
}

const Record<MemoryPart>& memory_record() {
  return described([](Record<MemoryPart>& r) {
    using R = MemoryPart;
    r.about("What the stages hold of the device's memory.");
    r.row<&R::capacity>();
    r.row<&R::stages>(stage_holds_record);
    r.named("Memory").all_required();
  });
}

void memory_rows(Record<Report>& r) { r.row<&Report::memory>(nullable(memory_record)); }

void fill_memory(Report& report, const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  if (plan.ranked.empty()) return;
  report.memory = memory_of(plan.ranked.front(), plan.model, only_device(plan.cluster));
}

std::vector<MemoryPartName> used_parts(const std::vector<StageHolds>& stages) {
  std::vector<MemoryPartName> used;
  for (const MemoryPartName& part : kMemoryParts) {
    const bool any = std::any_of(stages.begin(), stages.end(), [&](const StageHolds& stage) {
      return (stage.*part.amount).value() > 0.0;
    });
    if (any) used.push_back(part);
  }
  return used;
}

std::string gibibytes_text(Bytes amount) { return significant(in_gibibytes(amount), 3); }

std::string stage_bars(const MemoryPart& memory, std::string_view noun) {
  html::TableRows rows;
  for (const StageHolds& stage : memory.stages) {
    std::vector<html::Segment> segments;
    for (const MemoryPartName& part : kMemoryParts) {
      const Bytes amount = stage.*part.amount;
      segments.push_back({std::string(part.name), amount.value(),
                          fmt::format("{}: {}", spoken(part.name), memory_text(amount))});
    }
    rows.push_back({fmt::format("stage {}", stage.stage),
                    html::bar(segments, memory.capacity.value() * 1.02, memory.capacity.value()),
                    gibibytes_text(stage.total())});
  }
  std::vector<std::string> names;
  for (const MemoryPartName& part : used_parts(memory.stages)) names.emplace_back(part.name);
  return "<div class=\"bars\">" +
         html::table(fmt::format("Memory of one {} of each stage; the line is {}", noun,
                                 memory_text(memory.capacity)),
                     {{"stage"}, {"parts"}, {"total, GiB", true}}, rows) +
         "</div>" + html::legend(names);
}

std::string fullest_sentence(const MemoryPart& memory, std::string_view noun) {
  const auto most = std::max_element(
      memory.stages.begin(), memory.stages.end(),
      [](const StageHolds& a, const StageHolds& b) { return a.total() < b.total(); });
  if (most == memory.stages.end()) return "";
  return fmt::format("Stage {} has the highest memory use: {} of {} per {}, {} free.", most->stage,
                     memory_text(most->total()), memory_text(memory.capacity), noun,
                     memory_text(memory.capacity - most->total()));
}

std::string memory_page(const Report& report) {
  if (!report.memory) return "";
  const MemoryPart& memory = *report.memory;
  const std::string_view noun = device_noun(report);
  return html::section(
      "memory", "Memory",
      html::paragraph(fullest_sentence(memory, noun)) +
          html::figure("memory", "Memory of each pipeline stage against the device's capacity.",
                       stage_bars(memory, noun)) +
          html::numbers(
              "Every part of every stage",
              html::table(fmt::format("Memory of one {} of each stage", noun),
                          without_zero_columns(memory_table(memory.stages, memory.capacity)))));
}

}  // namespace

MemoryPart memory_of(const Estimate& estimate, const Model& model, const Device& device) {
  const std::vector<Stage> stages = pipeline_stages(model, estimate.layout);
  MemoryPart memory{.capacity = device.memory, .stages = {}};
  for (std::size_t i = 0; i < estimate.memory.size(); ++i) {
    StageHolds& holds = memory.stages.emplace_back();
    static_cast<StageMemory&>(holds) = estimate.memory[i];
    holds.stage = static_cast<int>(i);
    if (i < stages.size()) holds.num_layers = stages[i].num_layers();
  }
  return memory;
}

extern const ReportSection kMemorySection;
constexpr ReportSection kMemorySection{.rows = memory_rows,
                                       .fill = fill_memory,
                                       .page = memory_page,
                                       .id = "memory",
                                       .word = "Memory",
                                       .charts = "memory"};

}  // namespace meshwright::reports
