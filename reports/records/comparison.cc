// SPDX-License-Identifier: Apache-2.0
#include "reports/records/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "reports/records/comparison_text.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/layout/short_name.h"
#include "sim/memory/memory_parts.h"

namespace meshwright::reports {
namespace {

using Reports = std::vector<ComparedReport>;

Kind<ComparedValues> compared_values() {
  const Kind<NumberOfEach> numbers = kind::numbers_or_null();
  return {{.read = [numbers](ObjectReader& reader, const std::string& key,
                             ComparedValues& values) { numbers.read(reader, key, values.each); },
           .write =
               [numbers](Json& json, const std::string& key, const ComparedValues& values) {
                 numbers.write(json, key, values.each);
                 if (!values.whole) return;
                 for (Json& one : json[key]) {
                   if (!one.is_null()) one = std::llround(one.get<double>());
                 }
               },
           .schema = [numbers] { return numbers.schema(); }}};
}

// Kind of the values of inputs of any type.
Kind<Json> any_values() {
  return kind::anything().with({.schema = [] { return Json{{"type", "array"}}; }});
}

const Record<ComparedFacts>& compared_facts_record() {
  return described([](Record<ComparedFacts>& r) {
    using R = ComparedFacts;
    r.about("A report that is compared.");
    r.row<&R::name>("Its file's, without endings.");
    r.rows<&R::title, &R::verdict>();
    r.row<&R::layout>("The best layout's sizes; empty: none fits.");
    r.row<&R::device_kind>(kDeviceKindNames);
    r.row<&R::fits>("Whether any layout does.");
    r.named("ComparedReport").all_required();
  });
}

const Record<InputThatDiffers>& differing_input_record() {
  return described([](Record<InputThatDiffers>& r) {
    using R = InputThatDiffers;
    r.about("An input that is not the same in all reports.");
    r.row<&R::pointer>("JSON pointer into a report.");
    r.derived<std::string>("words", kind::text(), "The pointer as people say it.",
                           [](const R& input) { return words_of_pointer(input.pointer); });
    r.row<&R::values>(any_values(), "Null where a report does not say it.");
    r.named("InputThatDiffers").all_required();
  });
}

const Record<ComparedRow>& compared_row_record() {
  return described([](Record<ComparedRow>& r) {
    using R = ComparedRow;
    r.about("A number of each report.");
    r.row<&R::name>();
    r.row<&R::values>(compared_values());
    r.derived<NumberOfEach>("change_percent", kind::numbers_or_null(), "Against the first.",
                            changes_of);
    r.named("ComparedRow").all_required();
  });
}

const Record<ComparedQuantity>& compared_quantity_record() {
  return described([](Record<ComparedQuantity>& r) {
    using R = ComparedQuantity;
    r.about("A number of each report's best layout, and its ends where it has them.");
    r.row<&R::name>();
    r.row<&R::label>("The name as people say it.");
    r.row<&R::unit>("In which people read it; empty: none.");
    r.row<&R::unit_size>("How much one of the unit is.");
    r.row<&R::values>(compared_values());
    r.row<&R::low>(kind::numbers_or_null());
    r.row<&R::high>(kind::numbers_or_null());
    r.derived<NumberOfEach>("change_percent", kind::numbers_or_null(), "Against the first.",
                            changes_of);
    r.named("ComparedQuantity").all_required();
  });
}

const Record<ComparedLayout>& compared_layout_record() {
  return described([](Record<ComparedLayout>& r) {
    using R = ComparedLayout;
    r.about("A layout that some report shows at the top.");
    r.row<&R::layout>("Its short name.");
    r.row<&R::ranks>(compared_values(), "From 1.");
    r.row<&R::step_times>("step_time_seconds", kind::numbers_or_null());
    r.named("ComparedLayout").all_required();
  });
}

// Every leaf of an input by its JSON pointer.
std::map<std::string, Json> leaves(const Report& report) {
  Report inputs;  // the report without its answers
  inputs.plan = report.plan;
  inputs.model = report.model;
  inputs.job = report.job;
  inputs.cluster = report.cluster;
  const Json json = report_record().write(inputs);
  std::map<std::string, Json> all;
  for (const char* part : {"model", "job", "cluster"}) {
    const Json flat = json.at(part).flatten();
    for (const auto& [pointer, value] : flat.items()) {
      all[fmt::format("/{}{}", part, pointer)] = value;
    }
  }
  for (const char* key : {"tool_version", "command"}) {
    all[fmt::format("/plan/{}", key)] = json.at("plan").at(key);
  }
  return all;
}

std::vector<InputThatDiffers> different_inputs(const Reports& compared) {
  std::vector<std::map<std::string, Json>> all;
  std::set<std::string> pointers;
  for (const ComparedReport& one : compared) {
    all.push_back(leaves(one.report));
    for (const auto& [pointer, value] : all.back()) pointers.insert(pointer);
  }
  std::vector<InputThatDiffers> different;
  for (const std::string& pointer : pointers) {
    InputThatDiffers input{.pointer = pointer};
    for (const auto& leaf : all) {
      const auto found = leaf.find(pointer);
      input.values.push_back(found == leaf.end() ? Json() : found->second);
    }
    const bool same = std::all_of(input.values.begin(), input.values.end(),
                                  [&](const Json& value) { return value == input.values.front(); });
    if (!same) different.push_back(std::move(input));
  }
  return different;
}

// One report's number, and the ends of its range where the record has them.
struct ValueAndEnds {
  std::optional<double> middle{}, low{}, high{};
};

ValueAndEnds value_of(double value) { return {value}; }
ValueAndEnds value_of(Bytes amount) { return {amount.value()}; }
ValueAndEnds value_of(const planner::Quantiles& q) { return {q.p50, q.p10, q.p90}; }
template <typename M>
ValueAndEnds value_of(const std::optional<M>& value) {
  return value ? value_of(*value) : ValueAndEnds{};
}

template <auto kMember>
ValueAndEnds from_summary(const Report& report) {
  return report.summary ? value_of((*report.summary).*kMember) : ValueAndEnds{};
}
ValueAndEnds step_of(const Report& report) {
  if (!report.summary) return {};
  const Summary& s = *report.summary;
  return {s.step_time.value(), s.step_time_low.value(), s.step_time_high.value()};
}
// Reads a member of the capacity answer's row for the plan.
template <auto kMember>
ValueAndEnds from_row(const Report& report) {
  const Capacity& capacity = report.capacity;
  const CapacityRow* row = capacity.row(capacity.planned);
  if (row == nullptr) row = capacity.row(capacity.recommended);
  return row != nullptr && row->fits ? value_of(row->*kMember) : ValueAndEnds{};
}
// Days of a training that nobody stated say nothing.
ValueAndEnds days_of(const Report& report) {
  return report.capacity.tokens_stated ? from_row<&CapacityRow::days>(report) : ValueAndEnds{};
}

struct Quantity {
  std::string_view name, label, unit;
  double size = 1.0;  // of the unit
  ValueAndEnds (*of)(const Report& report) = nullptr;
  bool whole = false;
};
constexpr std::array kQuantities{
    Quantity{"gpus", "GPUs", "", 1.0, from_summary<&Summary::gpus>, true},
    Quantity{"days", "time to train", "days", 1.0, days_of},
    Quantity{"effective_tokens_per_second", "tokens/s, failures counted", "M/s", 1e6,
             from_row<&CapacityRow::effective_tokens_per_second>},
    Quantity{"cost", "cost", "M", 1e6, from_row<&CapacityRow::cost>},
    Quantity{"gpu_hours", "GPU-hours", "M", 1e6, from_row<&CapacityRow::gpu_hours>},
    Quantity{"energy_mwh", "energy", "MWh", 1.0, from_row<&CapacityRow::energy_mwh>},
    Quantity{"goodput", "goodput", "%", 0.01, from_row<&CapacityRow::goodput>},
    Quantity{"step_time_seconds", "step time", "s", 1.0, step_of},
    Quantity{"tokens_per_step", "tokens per step", "M", 1e6,
             from_summary<&Summary::tokens_per_step>},
    Quantity{"tokens_per_second_per_gpu", "tokens/s/GPU", "", 1.0,
             from_summary<&Summary::tokens_per_second_per_gpu>},
    Quantity{"model_flops_utilization", "MFU", "%", 0.01,
             from_summary<&Summary::model_flops_utilization>},
    Quantity{"peak_memory_bytes", "peak memory", "GiB", gibibytes(1).value(),
             from_summary<&Summary::peak_memory>},
    Quantity{"memory_capacity_bytes", "memory capacity", "GiB", gibibytes(1).value(),
             from_summary<&Summary::memory_capacity>}};

std::vector<ComparedQuantity> quantities(const Reports& compared, std::string_view noun) {
  std::vector<ComparedQuantity> all;
  for (const Quantity& quantity : kQuantities) {
    ComparedQuantity one;
    one.name = quantity.name;
    one.label = replaced(quantity.label, "GPU", noun);
    one.unit = quantity.unit;
    one.unit_size = quantity.size;
    one.values.whole = quantity.whole;
    bool any = false;
    for (const ComparedReport& each : compared) {
      const ValueAndEnds value = quantity.of(each.report);
      one.values.each.push_back(value.middle);
      one.low.push_back(value.low);
      one.high.push_back(value.high);
      any = any || value.middle;
    }
    if (any) all.push_back(std::move(one));
  }
  return all;
}

using Add = std::function<void(const std::string& name, double value)>;
// Adds what a report has; of what stands twice, the first counts.
using AddAll = void (*)(const Report& report, const Add& add);

// In the order of first appearance.
std::vector<ComparedRow> by_name(const Reports& compared, AddAll add_all, bool whole = false) {
  std::vector<ComparedRow> rows;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    add_all(compared[i].report, [&](const std::string& name, double value) {
      const auto [place, is_new] = places.try_emplace(name, rows.size());
      if (is_new) rows.push_back({name, {NumberOfEach(compared.size()), whole}});
      std::optional<double>& mine = rows[place->second].values.each[i];
      if (!mine) mine = value;
    });
  }
  return rows;
}

// Without those that are nothing in all.
std::vector<ComparedRow> present(std::vector<ComparedRow> rows) {
  std::erase_if(rows, [](const ComparedRow& row) {
    return std::all_of(row.values.each.begin(), row.values.each.end(),
                       [](const std::optional<double>& value) { return value.value_or(0) == 0.0; });
  });
  return rows;
}

void add_terms(const Report& report, const Add& add) {
  if (report.ranked.empty()) return;
  for (const Term& term : report.ranked.front().terms) {
    add(std::string(name_of(term.kind)), term.cost.time.value());
  }
}

// The parts of the fullest stage's memory.
void add_memory(const Report& report, const Add& add) {
  if (!report.memory || report.memory->stages.empty()) return;
  const std::vector<StageHolds>& stages = report.memory->stages;
  const StageMemory& fullest = *std::max_element(
      stages.begin(), stages.end(),
      [](const StageMemory& a, const StageMemory& b) { return a.total() < b.total(); });
  for (const MemoryPartName& part : kMemoryParts) {
    add(std::string(part.name), (fullest.*part.amount).value());
  }
}

void add_sent(const Report& report, const Add& add) {
  if (!report.volume) return;
  for (const GroupTraffic& group : report.volume->groups) {
    add(fmt::format("{} ({})", name_of(group.group), name_of(group.tier)), group.sent.value());
  }
}

void add_ranks(const Report& report, const Add& add) {
  for (const RankedLayout& ranked : report.ranked) add(short_name(ranked.layout), ranked.rank);
}

void add_step_times(const Report& report, const Add& add) {
  for (const RankedLayout& ranked : report.ranked) {
    add(short_name(ranked.layout), ranked.step_time.value());
  }
}

void add_rejections(const Report& report, const Add& add) {
  for (const RejectionRow& row : report.rejections) {
    add(std::string(rule_text(row.rule).name), static_cast<double>(row.count));
  }
}

// The layouts that any report shows at the top.
std::vector<ComparedLayout> ranking(const Reports& compared) {
  const std::vector<ComparedRow> ranks = by_name(compared, add_ranks, true);
  const std::vector<ComparedRow> times = by_name(compared, add_step_times);
  std::vector<ComparedLayout> shown;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const ComparedValues& of_layout = ranks[i].values;
    bool any = false;
    for (std::size_t k = 0; k < compared.size(); ++k) {
      any = any || (of_layout.each[k] && *of_layout.each[k] <= compared[k].report.top);
    }
    if (any) shown.push_back({ranks[i].name, of_layout, times[i].values.each});
  }
  return shown;
}

// "q3.report.json" is q3; names that stand twice are numbered.
std::vector<std::string> names_of(const Reports& compared) {
  std::vector<std::string> names;
  for (const ComparedReport& one : compared) {
    std::string name = std::filesystem::path(one.file).stem().string();
    if (name.ends_with(".report")) name.resize(name.size() - 7);
    const auto before = std::count_if(names.begin(), names.end(), [&](const std::string& other) {
      return other == name || other.starts_with(name + " #");
    });
    names.push_back(before == 0 ? name : fmt::format("{} #{}", name, before + 1));
  }
  return names;
}

ComparedFacts facts_of(const Report& report, const std::string& name) {
  return {.name = name,
          .title = report.title,
          .verdict = report.verdict,
          .layout = report.ranked.empty() ? "" : brief_name(report.ranked.front().layout),
          .device_kind = report.cluster.device_kind,
          .fits = report.summary.has_value()};
}

}  // namespace

NumberOfEach changes_of(const ComparedRow& row) {
  const NumberOfEach& values = row.values.each;
  const double first = values.empty() ? 0.0 : values.front().value_or(0.0);
  NumberOfEach changes;
  for (const std::optional<double>& mine : values) {
    changes.emplace_back();
    if (mine && first != 0.0) changes.back() = (*mine / first - 1.0) * 100.0;
  }
  return changes;
}

const Record<Comparison>& comparison_record() {
  return described([](Record<Comparison>& r) {
    using R = Comparison;
    r.about(
        "Reports side by side, two or more. Lists have an entry for each report, in the order of "
        "\"reports\"; null where one has no such number. change_percent is against the first.");
    r.file_of({std::string(kComparisonSchema)}, true);
    add_origin(r);
    r.derived<std::string>("sentence", kind::text(),
                           "Who is fastest and by how much, and whose intervals overlap.",
                           comparison_sentence);
    r.row<&R::reports>(compared_facts_record);
    r.row<&R::inputs_that_differ>(differing_input_record);
    r.row<&R::quantities>(compared_quantity_record);
    r.row<&R::terms>("terms_seconds", compared_row_record, "Of the best layouts' steps.");
    r.row<&R::fullest_stage>("fullest_stage_bytes", compared_row_record,
                             "What a device of the best layouts' largest stage holds.");
    r.row<&R::sent>("sent_bytes", compared_row_record,
                    "By one rank of the busiest stage in a step, by group and link.");
    r.row<&R::ranking>(compared_layout_record);
    r.row<&R::rejections>(compared_row_record, "Layouts by rule.");
    r.all_required();
  });
}

Comparison comparison_of(const std::vector<ComparedReport>& compared, const Origin& origin) {
  const std::vector<std::string> names = names_of(compared);
  Comparison made;
  made.origin = origin;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    made.reports.push_back(facts_of(compared[i].report, names[i]));
  }
  made.inputs_that_differ = different_inputs(compared);
  made.quantities = quantities(compared, device_noun(made));
  made.terms = present(by_name(compared, add_terms));
  made.fullest_stage = present(by_name(compared, add_memory));
  made.sent = by_name(compared, add_sent);
  made.ranking = ranking(compared);
  made.rejections = by_name(compared, add_rejections, true);
  return made;
}

}  // namespace meshwright::reports
