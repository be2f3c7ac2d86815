// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/serving_validation_table.h"

#include <fmt/format.h>

namespace meshwright::reports {

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
  const auto ms = [](Seconds s) { return s / milliseconds(1); };
  for (const planner::ServingComparison& one : validation.services) {
    table.rows.push_back(
        {planner::name_of_run(one.observation), ms(one.decode.predicted), ms(one.decode.measured),
         one.step_error * 100.0, ms(one.predicted.tpot.mean), ms(one.measured.tpot.mean),
         ms(one.predicted.ttft.p50), ms(one.measured.ttft.p50),
         one.predicted.output_tokens_per_second, one.measured.output_tokens_per_second,
         one.observation.host_time_ratio ? Cell(*one.observation.host_time_ratio) : Cell(),
         one.same_bytes() ? std::string("as predicted")
                          : fmt::format("{} steps and {} caches unlike it", one.unlike_steps,
                                        one.unlike_handovers)});
  }
  return table;
}

}  // namespace meshwright::reports
