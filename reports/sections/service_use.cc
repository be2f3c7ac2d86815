// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/service_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/service_text.h"
#include "reports/tables/serving_plan_tables.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

using html::escape;

struct MemoryPartOf {
  std::string_view name;
  Bytes (*amount)(const ReplicaMemory& memory);
};
constexpr std::array kServiceMemory{
    MemoryPartOf{"weights", [](const ReplicaMemory& m) { return m.weights.total(); }},
    MemoryPartOf{"activations", [](const ReplicaMemory& m) { return m.activations; }},
    MemoryPartOf{"runtime", [](const ReplicaMemory& m) { return m.outside; }},
    MemoryPartOf{"graphs", [](const ReplicaMemory& m) { return m.graphs; }},
    MemoryPartOf{"kv_cache", [](const ReplicaMemory& m) { return m.kv_cache; }},
    MemoryPartOf{"reserve", [](const ReplicaMemory& m) { return m.unused; }}};

std::string pool_words(const planner::ServicePoolDetails& pool) {
  return pool.pool == planner::ServicePool::aggregated
             ? pool.name
             : fmt::format("{}: {}", name_of(pool.pool), pool.name);
}

std::string service_memory_bars(const ServingPlanFile& file) {
  html::TableRows rows;
  std::vector<std::string> used;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    std::vector<html::Segment> segments;
    for (const MemoryPartOf& part : kServiceMemory) {
      const Bytes amount = part.amount(pool.memory);
      const std::string name(part.name);
      segments.push_back(
          {name, amount.value(), fmt::format("{}: {}", spoken(name), memory_text(amount))});
      const bool is_new = std::find(used.begin(), used.end(), name) == used.end();
      if (amount.value() > 0.0 && is_new) used.push_back(name);
    }
    rows.push_back(
        {escape(pool_words(pool)),
         html::bar(segments, pool.memory.device.value() * 1.02, pool.memory.device.value()),
         memory_text(pool.memory.device)});
  }
  return "<div class=\"bars\">" +
         html::table(fmt::format("Memory of the {} with the highest use; the line is its capacity",
                                 service_noun(file)),
                     {{"pool"}, {"parts"}, {"capacity", true}}, rows) +
         "</div>" + html::legend(used);
}

std::string service_memory_table(const ServingPlanFile& file) {
  std::vector<html::Heading> headings{{"part"}};
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    headings.push_back({pool_words(pool) + ", GiB", true});
  }
  html::TableRows rows;
  const auto add = [&](const std::string& name, auto amount_of) {
    html::TableRow row{escape(name)};
    for (const planner::ServicePoolDetails& pool : file.details->pools) {
      const double gib = in_gibibytes(amount_of(pool.memory));
      row.emplace_back(number_text(gib, 3), gib);
    }
    rows.push_back(std::move(row));
  };
  for (const MemoryPartOf& part : kServiceMemory) add(spoken(part.name), part.amount);
  add("capacity", [](const ReplicaMemory& m) { return m.device; });
  return html::table("Parts of the memory", headings, rows);
}

// A prefill pool decodes nothing: its cache has prompts alone.
std::string cache_sentence(const planner::ServicePoolDetails& pool) {
  const bool one = pool.admitted == 1.0;
  std::string text = fmt::format(
      "{}: the cache of an attention group holds {} tokens; {} {} of the asked length {} at once",
      pool_words(pool), number_text(pool.memory.kv_tokens), number_text(pool.admitted, 3),
      one ? "request" : "requests", one ? "fits" : "fit");
  if (pool.pool != planner::ServicePool::prefill) {
    text += fmt::format(", {} {} under the load", number_text(pool.running, 3),
                        pool.running == 1.0 ? "runs" : "run");
  }
  return text + ".";
}

std::string step_words(const planner::ServingStepParts& step) {
  if (step.step == planner::ServedStep::prefill) {
    return fmt::format("prefill of {} tokens", number_text(step.tokens));
  }
  return fmt::format("decode of {} {} at {} tokens", number_text(step.sequences, 3),
                     step.sequences == 1.0 ? "sequence" : "sequences", number_text(step.tokens));
}

std::string step_bars(const ServingPlanFile& file) {
  html::TableRows rows;
  std::vector<std::string> used;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    for (const planner::ServingStepParts& step : pool.steps) {
      std::vector<html::Segment> segments;
      double sum = 0.0;
      for (const planner::ServingStepPart& part : step.parts) {
        const std::string name(name_of(part.term));
        segments.push_back({name, part.time.value(),
                            fmt::format("{}: {}", spoken(name), latency_text(part.time))});
        sum += part.time.value();
        if (std::find(used.begin(), used.end(), name) == used.end()) used.push_back(name);
      }
      const double ms = step.time.value / milliseconds(1), low = step.time.low / milliseconds(1);
      rows.push_back({escape(step_words(step)), html::bar(segments, sum),
                      html::TableCell(number_text(ms, 3), ms),
                      html::TableCell(fmt::format("{}–{}", number_text(low, 3),
                                                  number_text(step.time.high / milliseconds(1), 3)),
                                      low)});
    }
  }
  return "<div class=\"bars\">" +
         html::table("Parts of a step; each bar is a whole step",
                     {{"step"}, {"parts"}, {"time, ms"}, {"90 % interval, ms"}}, rows) +
         "</div>" + html::legend(used);
}

std::string step_table(const planner::ServicePoolDetails& pool,
                       const planner::ServingStepParts& step) {
  html::TableRows rows;
  for (const planner::ServingStepPart& part : step.parts) {
    const double ms = part.time / milliseconds(1);
    rows.push_back({escape(spoken(name_of(part.term))), html::TableCell(number_text(ms, 3), ms),
                    html::TableCell(percent_text(part.relative_spread), part.relative_spread),
                    html::badge(name_of(part.provenance))});
  }
  return html::table(fmt::format("{}, {}", pool_words(pool), step_words(step)),
                     {{"part"}, {"time, ms", true}, {"± (1 sigma)", true}, {"source"}}, rows);
}

}  // namespace

std::string service_memory_section(const ServingPlanFile& file) {
  if (!file.details || file.details->pools.empty()) return "";
  std::string text;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    text += html::paragraph(cache_sentence(pool));
  }
  text += html::paragraph(
      "Runtime is CUDA's context and NCCL's buffers. Reserve is what the engine's memory fraction "
      "leaves free. Other ranks of the replica use no more.");
  return html::section("memory", "Memory of a " + service_noun(file),
                       text + service_memory_bars(file) +
                           html::numbers("Numbers as a table", service_memory_table(file)));
}

std::string service_steps_section(const ServingPlanFile& file) {
  if (!file.details || file.details->pools.empty()) return "";
  std::string tables;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    for (const planner::ServingStepParts& step : pool.steps) tables += step_table(pool, step);
  }
  const std::string why =
      html::table("Decode steps of the first two deployments, each at its batch",
                  serving_explanation_table(file));
  return html::section("steps", "What a step consists of",
                       step_bars(file) + html::numbers("Numbers as tables", tables) + why);
}

std::string service_use_section(const ServingPlanFile& file) {
  if (!file.details || file.details->pools.empty()) return "";
  html::TableRows rows;
  for (const planner::ServicePoolDetails& pool : file.details->pools) {
    const std::array shares{std::pair{"prefill", pool.prompt_share},
                            std::pair{"decode", pool.decode_share},
                            std::pair{"idle", pool.idle_share}};
    std::vector<html::Segment> segments;
    html::TableRow row{escape(pool_words(pool)), ""};
    for (const auto& [name, share] : shares) {
      segments.push_back({name, share, fmt::format("{}: {}", name, percent_text(share))});
      row.emplace_back(percent_text(share), share);
    }
    row[1] = html::bar(segments, 1.0);
    rows.push_back(std::move(row));
  }
  return html::section(
      "use", "Prefill and decode",
      html::paragraph("Shares of the GPUs' time under the asked load. Idle GPUs are paid for.") +
          "<div class=\"bars\">" +
          html::table("Use of each pool's time",
                      {{"pool"}, {"shares"}, {"prefill", true}, {"decode", true}, {"idle", true}},
                      rows) +
          "</div>" + html::legend({"prefill", "decode", "idle"}));
}

}  // namespace meshwright::reports
