// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/placement.h"
#include "sim/json/records.h"

namespace meshwright {
namespace {

Json stage_to_json(const StageVolume& stage) {
  Json transfers = Json::array();
  for (const Transfer& transfer : stage.transfers) transfers.push_back(to_json(transfer));
  Json by_group = Json::object();
  for (const auto& entry : kGroupNames) {
    const Bytes sent = stage.sent(entry.value);
    if (sent > bytes(0)) by_group[std::string(entry.name)] = sent.value();
  }
  return {{"stage", stage.stage},
          {"sent_bytes", stage.sent().value()},
          {"sent_by_group_bytes", by_group},
          {"transfers", transfers}};
}

}  // namespace

Json to_json(const Transfer& transfer) {
  return {{"name", transfer.name},
          {"group", name_of(transfer.group)},
          {"collective", name_of(transfer.collective)},
          {"phase", name_of(transfer.phase)},
          {"group_size", transfer.group_size},
          {"times_per_step", transfer.times_per_step},
          {"payload_bytes", transfer.payload.value()},
          {"formula", transfer.formula},
          {"payload_per_step_bytes", transfer.payload_per_step().value()},
          {"sent_per_step_bytes", transfer.sent_per_step().value()},
          {"overlappable", transfer.overlappable}};
}

Json to_json(const Volume& volume) {
  Json stages = Json::array();
  for (const StageVolume& stage : volume.stages) stages.push_back(stage_to_json(stage));
  return {{"busiest_stage", volume.stages.empty() ? 0 : volume.busiest().stage},
          {"stages", stages}};
}

Json to_json(const PublishedOrders& orders) {
  return {{"data_parallel_elements", orders.data_parallel},
          {"pipeline_parallel_elements", orders.pipeline_parallel},
          {"tensor_parallel_elements", orders.tensor_parallel},
          {"data_sent_bytes", orders.data_exact.value()},
          {"pipeline_sent_bytes", orders.pipeline_exact.value()},
          {"tensor_sent_bytes", orders.tensor_exact.value()},
          {"tensor_exceeds_data", orders.tensor_exceeds_data},
          {"data_exceeds_pipeline", orders.data_exceeds_pipeline}};
}

Json to_json(const Violation& violation, const Model& model, const Job& job, const Layout& layout,
             const Devices& devices) {
  const RuleText& text = rule_text(violation.rule);
  return {{"rule", text.name},
          {"what", describe(violation, model, job, layout, devices)},
          {"needed", violation.needed},
          {"available", violation.available},
          {"requirement", text.requirement},
          {"reason", text.reason},
          {"remedy", text.remedy}};
}

}  // namespace meshwright
