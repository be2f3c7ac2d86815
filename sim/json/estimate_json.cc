// SPDX-License-Identifier: Apache-2.0
#include "sim/json/records.h"
#include "sim/layout/short_name.h"

namespace meshwright {

Json to_json(const StageMemory& memory) {
  Json json;
  json["weights_bytes"] = memory.weights.value();
  json["gradients_bytes"] = memory.gradients.value();
  json["optimizer_bytes"] = memory.optimizer.value();
  json["activations_bytes"] = memory.activations.value();
  json["recompute_workspace_bytes"] = memory.recompute_workspace.value();
  json["operator_workspace_bytes"] = memory.operator_workspace.value();
  json["logits_bytes"] = memory.logits.value();
  json["communication_buffers_bytes"] = memory.communication_buffers.value();
  json["reserve_bytes"] = memory.reserve.value();
  json["total_bytes"] = memory.total().value();
  return json;
}

Json to_json(const Estimate& estimate) {
  Json json;
  json["layout"] = to_json(estimate.layout);
  json["short_name"] = short_name(estimate.layout);
  json["step_time_seconds"] = estimate.step_time.value();
  json["step_time_low_seconds"] = estimate.step_time_low.value();
  json["step_time_high_seconds"] = estimate.step_time_high.value();
  json["interval_regime"] = name_of(estimate.interval_regime);
  json["interval_narrowed_by"] = estimate.narrowed_by;
  json["provenance"] = name_of(estimate.provenance);
  json["tokens_per_second_per_gpu"] = estimate.tokens_per_second_per_gpu;
  json["model_flops_utilization"] = estimate.model_flops_utilization;
  Json terms = Json::array();
  for (const Term& term : estimate.terms) {
    Json entry;
    entry["name"] = name_of(term.kind);
    entry["seconds"] = term.cost.time.value();
    entry["relative_spread"] = term.cost.relative_spread;
    entry["provenance"] = name_of(term.cost.provenance);
    terms.push_back(std::move(entry));
  }
  json["terms"] = std::move(terms);
  json["peak_memory_bytes"] = estimate.peak_memory().value();
  Json stages = Json::array();
  for (const StageMemory& stage : estimate.memory) stages.push_back(to_json(stage));
  json["memory"] = std::move(stages);
  json["volume"] = to_json(estimate.volume);
  return json;
}

}  // namespace meshwright
