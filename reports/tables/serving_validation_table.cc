// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/serving_validation_table.h"

#include "reports/text/serving_validation_text.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

double in_ms(Seconds time) { return time / milliseconds(1); }

std::string signed_percent(double percent) { return signed_number_text(percent, 3); }

Cell host_slowdown(const planner::ServingComparison& service) {
  return optional_cell(service.observation.host_time_ratio);
}

}  // namespace

std::vector<ServedQuantity> served_quantities(const planner::ServingComparison& service) {
  std::vector<ServedQuantity> found;
  const auto add = [&](std::string_view name, Seconds predicted, Seconds measured) {
    found.push_back({name, "ms", in_ms(predicted), in_ms(measured)});
  };
  const auto add_steps = [&](std::string_view name,
                             const planner::ServingComparison::Steps& steps) {
    if (steps.count > 0) add(name, steps.predicted, steps.measured);
  };
  add_steps("decode step", service.decode);
  add_steps("step with prompts", service.mixed);
  add_steps("hand-over of a cache", service.handover);
  add("TPOT (mean)", service.predicted.tpot.mean, service.measured.tpot.mean);
  add("TTFT (median)", service.predicted.ttft.p50, service.measured.ttft.p50);
  found.push_back({"output tokens/s", "1/s", service.predicted.output_tokens_per_second,
                   service.measured.output_tokens_per_second});
  return found;
}

Table serving_validation_table(const planner::ServingValidation& validation) {
  Table table{"Served and predicted",
              {{"deployment", "deployment", ""},
               {"decode_predicted_ms", "decode step predicted", "ms", 3},
               {"decode_measured_ms", "measured", "ms", 3},
               {"step_error_percent", "step error", "%", 3},
               {"tpot_predicted_ms", "TPOT predicted", "ms", 3},
               {"tpot_measured_ms", "measured", "ms", 3},
               {"ttft_predicted_ms", "p50 TTFT predicted", "ms", 3},
               {"ttft_measured_ms", "measured", "ms", 3},
               {"tokens_predicted", "tokens/s predicted", "1/s", 4},
               {"tokens_measured", "measured", "1/s", 4},
               {"host_time_ratio", "host time", "x", 3},
               {"bytes", "bytes", ""}},
              {}};
  for (const planner::ServingComparison& one : validation.services) {
    table.rows.push_back({one.name, in_ms(one.decode.predicted), in_ms(one.decode.measured),
                          one.step_error * 100.0, in_ms(one.predicted.tpot.mean),
                          in_ms(one.measured.tpot.mean), in_ms(one.predicted.ttft.p50),
                          in_ms(one.measured.ttft.p50), one.predicted.output_tokens_per_second,
                          one.measured.output_tokens_per_second, host_slowdown(one),
                          served_bytes_text(one)});
  }
  return table;
}

Table served_quantities_table(const planner::ServingValidation& validation) {
  Table table{"Predicted and measured, by quantity",
              {{.key = "deployment", .heading = "deployment", .face = Face::code},
               {.key = "quantity", .heading = "quantity"},
               {.key = "unit", .heading = "unit"},
               {.key = "predicted", .heading = "predicted"},
               {.key = "measured", .heading = "measured"},
               {.key = "error_percent", .heading = "error", .unit = "%", .text = signed_percent}},
              {}};
  for (const planner::ServingComparison& one : validation.services) {
    for (const ServedQuantity& each : served_quantities(one)) {
      Cell error;
      if (each.measured > 0.0) error = (each.predicted / each.measured - 1.0) * 100.0;
      table.rows.push_back({one.name, std::string(each.name), std::string(each.unit),
                            each.predicted, each.measured, error});
    }
  }
  return table;
}

Table served_runs_table(const planner::ServingValidation& validation) {
  Table table{"Deployments that ran",
              {{.key = "deployment", .heading = "deployment", .face = Face::code},
               {.key = "requests", .heading = "requests"},
               {.key = "ranks", .heading = std::string(device_noun(served_on(validation), 2))},
               {.key = "host_time_ratio", .heading = "host slowdown", .unit = "x", .digits = 3},
               {.key = "bytes", .heading = "bytes moved"}},
              {}};
  for (const planner::ServingComparison& one : validation.services) {
    table.rows.push_back({one.name, static_cast<double>(one.measured.requests),
                          static_cast<double>(one.observation.ranks), host_slowdown(one),
                          served_bytes_text(one)});
  }
  return without_empty_columns(std::move(table));
}

}  // namespace meshwright::reports
