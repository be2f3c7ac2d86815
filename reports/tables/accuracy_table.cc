// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/accuracy_table.h"

#include "reports/records/backtest.h"

namespace meshwright::reports {

Table accuracy_table(const std::vector<AccuracyResult>& results) {
  Table table;
  table.title = "Predicted against measured, by data set (error = predicted / measured - 1)";
  table.columns = {{"set", "set", "", 4},
                   {"framework", "framework", "", 4},
                   {"fitted_on", "fitted on it", "", 4},
                   {"runs", "runs", "", 5},
                   {"mean_error_percent", "mean error", "%", 3},
                   {"median_error_percent", "median", "%", 3},
                   {"worst_error_percent", "worst", "%", 3},
                   {"bias_percent", "bias", "%", 3},
                   {"kendall_tau", "tau", "", 3},
                   {"regret_percent", "regret", "%", 3},
                   {"memory_error_percent", "memory error", "%", 3},
                   {"interval_regime", "regime", "", 4},
                   {"inside_interval_percent", "inside interval", "%", 3},
                   {"interval_width_percent", "width", "%", 3},
                   {"limit_percent", "limit of the mean error", "%", 3}};
  const auto cell = [](const std::optional<double>& value) {
    return value ? Cell(*value) : Cell();
  };
  for (const AccuracyResult& result : results) {
    const planner::Score& score = result.score;
    table.rows.push_back(
        {result.row.name, result.framework, result.fitted_on ? "yes" : "no",
         static_cast<double>(score.runs), score.mean_ape_percent, score.median_ape_percent,
         score.max_ape_percent, score.bias_percent, cell(score.kendall_tau),
         cell(score.top1_regret_percent_mean), cell(score.memory_median_ape_percent),
         score.interval_regime ? Cell(std::string(name_of(*score.interval_regime))) : Cell(),
         cell(score.interval_coverage_percent), cell(score.interval_width_percent),
         cell(result.row.limits.mean_error)});
  }
  return table;
}

Json accuracy_to_json(const std::vector<AccuracyResult>& results) {
  Json json{{"schema", "meshwright.accuracy_result/1"}};
  Json& rows = json["rows"] = Json::array();
  for (const AccuracyResult& result : results) {
    Json row{{"name", result.row.name}, {"set", result.row.set}};
    row["framework"] = result.framework;
    row["fitted_on"] = result.fitted_on;
    row["score"] = score_record().write(result.score);
    rows.push_back(std::move(row));
  }
  return json;
}

}  // namespace meshwright::reports
