// SPDX-License-Identifier: Apache-2.0
// meshwright serve backtest: published points of services, predicted and compared.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/serve_commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/serving_points.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "reports/tables/serving_plan_tables.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"

namespace meshwright::app {
namespace {

struct ServeBacktestOptions {
  std::string set, engines;
  bool steady = false, with_unknown_speculation = false;
  OutputOptions output;
};

void say_left_out(const planner::MeasuredServices& set) {
  std::map<std::string, int> counts;
  for (const planner::UnreadService& row : set.unread) ++counts[row.reason];
  for (const auto& [reason, count] : counts) {
    say("left out: {} rows, {}\n", count, reason);
  }
}

int run_serve_backtest(const ServeBacktestOptions& o, const Call& call) {
  planner::MeasuredServices set = load_serving_points(o.set, o.engines);
  if (!o.with_unknown_speculation) {
    const auto unknown = std::stable_partition(
        set.points.begin(), set.points.end(),
        [](const planner::MeasuredService& point) { return !point.speculation_unknown; });
    for (auto point = unknown; point != set.points.end(); ++point) {
      set.unread.push_back({point->id, "whether drafts were used is not stated", 0});
    }
    set.points.erase(unknown, set.points.end());
  }
  say_left_out(set);
  if (set.points.empty()) {
    say("No point could be predicted.\n");
    return kGateFailed;
  }
  const std::vector<planner::PredictedService> predictions = planner::predicted(set, !o.steady);
  reports::ServingBacktestFile file = reports::serving_backtest_file(set, predictions, !o.steady);
  file.command = call.text();
  const auto refused = std::count_if(predictions.begin(), predictions.end(),
                                     [](const auto& one) { return one.refused.has_value(); });
  if (refused > 0) {
    say("{} of {} points are refused by a rule; see --format json\n", refused, set.points.size());
  }
  write_output(o.output, {reports::serving_scores_table(file), reports::serving_misses_table(file)},
               reports::serving_backtest_record().write(file).dump(2) + "\n");
  if (!file.choices.empty()) {
    double regret = 0;
    int found = 0;
    for (const planner::LayoutChoice& one : file.choices) {
      regret += one.regret;
      found += one.best == one.chosen ? 1 : 0;
    }
    const auto count = static_cast<double>(file.choices.size());
    say("Best layout found in {} of {} comparisons; mean loss of throughput {} %.\n", found,
        file.choices.size(), number_text(regret / count * 100.0, 3));
  }
  return kDone;
}

}  // namespace

void add_serve_backtest(Commands& commands, Command& serve) {
  auto options = std::make_shared<ServeBacktestOptions>();
  Command& command = commands.add_below(serve, "backtest",
                                        "Compare predictions with published points of services");
  command.reads("points", options->set, "CSV of points: docs/reference/file-formats.md")
      ->required();
  command.options().add_option("--engines", options->engines,
                               "Folder of engine files to use. Default: configs/engines");
  command.options().add_flag("--steady", options->steady,
                             "Predict closed and open loops in closed form instead of simulating");
  command.options().add_flag("--with-unknown-speculation", options->with_unknown_speculation,
                             "Also points that do not say whether drafts were used");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_serve_backtest(*options, call); });
}

}  // namespace meshwright::app
