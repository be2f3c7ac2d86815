// SPDX-License-Identifier: Apache-2.0
#include "reports/validation_json.h"

#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

Json at_host_speed(const planner::LayoutComparison& comparison) {
  if (!comparison.at_host_speed) return nullptr;
  return {{"error", comparison.at_host_speed->error},
          {"inside_interval", comparison.at_host_speed->inside_interval}};
}

Json or_null(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const planner::LayoutComparison& comparison) {
  Json terms = Json::array();
  for (const planner::TermComparison& term : comparison.terms) {
    terms.push_back({{"name", name_of(term.kind)},
                     {"predicted_seconds", term.predicted.value()},
                     {"measured_seconds", term.measured.value()}});
  }
  Json transfers = Json::array();
  for (const planner::TransferComparison& t : comparison.transfers) {
    transfers.push_back({{"name", t.counted.name},
                         {"phase", name_of(t.counted.phase)},
                         {"times_per_step", t.counted.times_per_step},
                         {"payload_bytes", t.counted.payload.value()},
                         {"predicted_seconds", t.predicted.value()},
                         {"measured_seconds", t.measured.value()},
                         {"as_predicted", t.as_predicted}});
  }
  return {{"layout", meshwright::to_json(comparison.observation.layout)},
          {"name", short_name(comparison.observation.layout)},
          {"run_name", short_name(comparison.observation.run_layout)},
          {"predicted_seconds", comparison.predicted.step_time.value()},
          {"predicted_low_seconds", comparison.predicted.step_time_low.value()},
          {"predicted_high_seconds", comparison.predicted.step_time_high.value()},
          {"measured_seconds", comparison.observation.step_time.value()},
          {"error", comparison.error},
          {"inside_interval", comparison.inside_interval},
          {"at_host_speed", at_host_speed(comparison)},
          {"memory_error", comparison.memory_error},
          {"terms", std::move(terms)},
          {"transfers", std::move(transfers)},
          {"same_bytes", comparison.same_bytes},
          {"observation", meshwright::to_json(comparison.observation)},
          {"predicted", meshwright::to_json(comparison.predicted)}};
}

void add(Json& json, const planner::Validation& validation) {
  json["median_absolute_error"] = validation.median_absolute_error;
  json["worst_absolute_error"] = validation.worst_absolute_error;
  json["kendall_tau"] = validation.kendall_tau;
  json["regret"] = validation.regret;
  json["median_absolute_memory_error"] = validation.median_absolute_memory_error;
  json["interval_coverage"] = validation.interval_coverage;
  json["median_absolute_error_at_host_speed"] =
      or_null(validation.median_absolute_error_at_host_speed);
  json["interval_coverage_at_host_speed"] = or_null(validation.interval_coverage_at_host_speed);
  json["skipped"] = validation.skipped;
  json["layouts"] = Json::array();
  for (const planner::LayoutComparison& comparison : validation.layouts) {
    json["layouts"].push_back(to_json(comparison));
  }
}

}  // namespace

Json validation_to_json(const planner::Validation& validation) {
  Json json = Json::object();
  add(json, validation);
  return json;
}

Json validation_to_json(const planner::Validation& validation, const Origin& origin) {
  Json json = artefact(kValidationSchema, origin);
  add(json, validation);
  return json;
}

}  // namespace meshwright::reports
