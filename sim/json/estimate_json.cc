// SPDX-License-Identifier: Apache-2.0
// Estimates as JSON.
#include <algorithm>

#include "sim/json/input_records.h"
#include "sim/json/records.h"
#include "sim/json/result_records.h"
#include "sim/layout/short_name.h"
#include "sim/memory/memory_parts.h"

namespace meshwright {
namespace {

Record<StageMemory> make_stage_memory_record() {
  const auto amount = kind::base_amount<Bytes>();
  Record<StageMemory> r("What one rank of a stage holds at its peak.");
  r.named("StageMemory");
  for (const MemoryPartName& part : kMemoryParts) {
    r.row(part.amount, std::string(part.name) + "_bytes", amount, part.about);
  }
  r.derived<Bytes>("total_bytes", amount, "The sum.",
                   [](const StageMemory& memory) { return memory.total(); });
  return r.all_required();
}

Record<Term> make_term_record() {
  Record<Term> r("A part of the step's time. The parts add up to it.");
  r.named("Term");
  r.row<&Term::kind>("name", kTermNames, "The part.");
  r.row_at(
      [](auto& term) -> auto& { return term.cost.time; }, "seconds", "Its time.");
  r.row_at(
      [](auto& term) -> auto& { return term.cost.relative_spread; }, "relative_spread",
      "One standard deviation, as a share.");
  r.row_at(
      [](auto& term) -> auto& { return term.cost.provenance; }, "provenance", kProvenanceNames,
      "The weakest source of its numbers.");
  return r.all_required();
}

// Every term, in the order of the enumeration.
Kind<Terms> terms_kind() {
  const auto list = kind::list(term_record);
  return {{.read =
               [list](ObjectReader& reader, const std::string& key, Terms& terms) {
                 std::vector<Term> read;
                 list.read(reader, key, read);
                 if (read.size() != terms.size()) reader.fail(key, "must hold each term once");
                 std::copy(read.begin(), read.end(), terms.begin());
               },
           .write =
               [list](Json& json, const std::string& key, const Terms& terms) {
                 list.write(json, key, {terms.begin(), terms.end()});
               },
           .schema = [list] { return list.schema(); }}};
}

Record<Estimate> make_estimate_record() {
  Record<Estimate> r("Time, memory and volume of a layout.");
  r.named("Estimate");
  r.row<&Estimate::layout>(layout_record, "The layout.");
  r.derived<std::string>("short_name", kind::text(), "The layout in a line.",
                         [](const Estimate& estimate) { return short_name(estimate.layout); });
  r.row<&Estimate::step_time>("Time of a step.");
  r.row<&Estimate::step_time_low>("Begin of its 90 % interval.");
  r.row<&Estimate::step_time_high>("End of its 90 % interval.");
  r.row<&Estimate::interval_regime>(kIntervalRegimeNames,
                                    "How much is known of the machine and its software.");
  r.row<&Estimate::narrowed_by>("interval_narrowed_by",
                                "What would make the interval narrower; empty: nothing is known.");
  r.row<&Estimate::provenance>(kProvenanceNames, "The weakest source of the terms that matter.");
  r.row<&Estimate::tokens_per_second_per_gpu>("Tokens that a device trains a second.");
  r.row<&Estimate::model_flops_utilization>(
      "FLOPs that the model needs over the devices' dense peak (MFU).");
  r.row<&Estimate::terms>(terms_kind(), "What the step's time consists of.");
  r.derived<Bytes>("peak_memory_bytes", kind::base_amount<Bytes>(),
                   "Memory of the stage with the highest use.",
                   [](const Estimate& estimate) { return estimate.peak_memory(); });
  r.row<&Estimate::reserved_peak>("The same with what the framework's allocator reserves.");
  r.row<&Estimate::memory_fit>(kMemoryFitNames,
                               "Whether the reserved memory fits the device, within 3 %.");
  r.row<&Estimate::memory>(stage_memory_record, "Memory of each pipeline stage.");
  r.row<&Estimate::volume>(volume_record, "Every transfer of a step.");
  return r.all_required();
}

}  // namespace

const Record<StageMemory>& stage_memory_record() {
  static const Record<StageMemory> record = make_stage_memory_record();
  return record;
}

const Record<Term>& term_record() {
  static const Record<Term> record = make_term_record();
  return record;
}

const Record<Estimate>& estimate_record() {
  static const Record<Estimate> record = make_estimate_record();
  return record;
}

Json to_json(const Estimate& estimate) { return estimate_record().write(estimate); }

}  // namespace meshwright
