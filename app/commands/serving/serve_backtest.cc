// SPDX-License-Identifier: Apache-2.0
// meshwright serve backtest: published points of services, predicted and compared.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/commands/commands.h"
#include "app/commands/serving/serve_commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "app/files/point_table.h"
#include "app/files/serving_points.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "app/options/serve_options.h"
#include "interop/serving/benchmark_table.h"
#include "reports/tables/serving_backtest_tables.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"

namespace meshwright::app {
namespace {

// Columns that options state for all rows.
struct StatedCells {
  std::string cluster, weights, kv_cache;
  std::optional<int> tensor, pipeline, data, experts, gpus, input, output, requests;
  std::optional<double> concurrency, rate;
};

struct ServeBacktestOptions {
  std::string set, points_out;
  StatedService stated;
  StatedCells cells;
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

StatedService stated_service(const ServeBacktestOptions& o) {
  StatedService stated = o.stated;
  const auto set = [&](const char* column, const std::string& text) {
    if (!text.empty()) stated.cells[column] = text;
  };
  const auto count = [&](const char* column, const std::optional<int>& value) {
    if (value) set(column, std::to_string(*value));
  };
  const StatedCells& c = o.cells;
  set("cluster", c.cluster);
  set("precision", c.weights);
  set("kv_format", c.kv_cache);
  count("tp", c.tensor);
  count("pp", c.pipeline);
  count("dp_attention", c.data);
  count("ep", c.experts);
  count("num_gpus", c.gpus);
  count("isl", c.input);
  count("osl", c.output);
  count("num_prompts", c.requests);
  if (c.concurrency) {
    set("load", "closed");
    set("concurrency", fmt::format("{}", *c.concurrency));
  } else if (c.rate) {
    set("load", "open poisson");
    set("request_rate_rps", fmt::format("{}", *c.rate));
  }
  return stated;
}

int run_serve_backtest(const ServeBacktestOptions& o, const Call& call) {
  reports::Origin origin = call.origin();
  const interop::CsvTable table = read_point_table(o.set, &origin);
  if (!o.points_out.empty()) write_file_atomically(o.points_out, interop::csv_text(table));
  planner::MeasuredServices set = points_in_table(table, stated_service(o));
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
  file.origin = std::move(origin);
  const auto refused = std::count_if(predictions.begin(), predictions.end(),
                                     [](const auto& one) { return one.refused.has_value(); });
  if (refused > 0) {
    say("{} of {} points are refused by a rule; see --format json\n", refused, set.points.size());
  }
  write_output(o.output,
               {named("scores", reports::serving_scores_table(file)),
                named("misses", reports::serving_misses_table(file))},
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

void add_stated_service(Command& command, ServeBacktestOptions& o) {
  command.reads("--model", o.stated.model,
                "Model of all points: a file or a name. Default: as the points say", "models");
  command.reads("--cluster", o.cells.cluster,
                "Cluster of all points: a file or a name. Default: the GPU that the points name",
                "clusters");
  command.reads("--engine", o.stated.engine,
                "Engine of all points: a file or a name. Default: the version nearest to theirs",
                "engines");
  CLI::App& app = command.options();
  app.add_option("--weights", o.cells.weights,
                 "Format of the weights, if the points do not say it");
  app.add_option("--kv-cache", o.cells.kv_cache, "Format of the cache: bf16 or fp8");
  const auto count = [&](const char* name, std::optional<int>& value, const char* about) {
    app.add_option(name, value, about)->check(CLI::Range(1, 1'000'000'000).description(""));
  };
  count("--tp,--tensor-parallel-size", o.cells.tensor,
        "Tensor-parallel size of a replica, without data ranks");
  count("--pp,--pipeline-parallel-size", o.cells.pipeline, "Pipeline stages");
  count("--dp,--data-parallel-size", o.cells.data, "Attention's data ranks");
  count("--ep,--expert-parallel-size", o.cells.experts, "Ranks that share the experts");
  count("--gpus", o.cells.gpus, "GPUs of the service. Default: one replica");
  count("--isl", o.cells.input, "Tokens of a prompt");
  count("--osl", o.cells.output, "Tokens of an answer");
  count("--num-prompts", o.cells.requests, "Requests of the benchmark");
  add_loop_options(command, o.cells.concurrency, o.cells.rate);
}

}  // namespace

void add_serve_backtest(Commands& commands, Command& serve) {
  auto options = std::make_shared<ServeBacktestOptions>();
  Command& command =
      commands.add_below(serve, "backtest", "Compare predictions with measured points of services");
  command
      .reads("points", options->set,
             "CSV of points (docs/reference/file-formats.md), a result of vllm bench serve, "
             "sglang.bench_serving, aiperf or InferenceX, or an engine's log")
      ->required();
  add_stated_service(command, *options);
  command.options().add_option("--engines", options->stated.engines,
                               "Folder of engine files to use. Default: configs/engines");
  command.never_with("--engines", {"--engine"});
  command.writes("--points-out", options->points_out, "Write the points as CSV to this file");
  command.options().add_flag("--steady", options->steady,
                             "Predict closed and open loops in closed form instead of simulating");
  command.options().add_flag("--with-unknown-speculation", options->with_unknown_speculation,
                             "Also points that do not say whether drafts were used");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_serve_backtest(*options, call); });
}

}  // namespace meshwright::app
