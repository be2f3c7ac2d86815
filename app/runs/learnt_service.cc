// SPDX-License-Identifier: Apache-2.0
#include "app/runs/learnt_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "app/files/checkpoint_names.h"
#include "app/files/config_names.h"
#include "app/files/point_row.h"
#include "app/files/point_table.h"
#include "app/files/serving_files.h"
#include "app/files/serving_points.h"
#include "app/runs/launched_service.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::app {
namespace {

// "NVIDIA RTX PRO 6000" and "rtx_pro_6000" alike: "rtxpro6000".
std::string device_word(const std::string& name) {
  std::string word;
  for (const char c : lower_case(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) word += c;
  }
  for (const std::string_view maker : {"nvidia", "amd", "geforce", "instinct"}) {
    if (word.starts_with(maker)) word.erase(0, maker.size());
  }
  return word;
}

// What a row says to be about that is not this scenario; empty: nothing.
std::string about_another(const PointRow& row, const ServingScenario& scenario) {
  const std::string model = row.text("model");
  const bool is_checkpoint = contains(model, "/");
  const std::string shipped = is_checkpoint ? model_of_checkpoint(model) : model;
  const bool same_model = shipped.empty() || shipped == scenario.model.name ||
                          scenario.model.name.starts_with(shipped + "-");
  if (!same_model) return fmt::format("is about {}, not {}", shipped, scenario.model.name);
  const std::string gpu = row.text("gpu");
  const std::string& device = only_device(scenario.cluster).name;
  if (!gpu.empty() && !device_word(device).starts_with(device_word(gpu))) {
    return fmt::format("was measured on {}, not on {}", gpu, device);
  }
  const std::string engine = engine_kind_of(row.text("engine"));
  if (engine.empty()) return "";
  const std::string version = row.text("engine_version");
  const std::string& own = scenario.engine.name;
  const std::vector<std::string> known = config_names("engines");
  const bool is_shipped = std::find(known.begin(), known.end(), own) != known.end();
  const std::string nearest = nearest_engine(engine, version);
  const bool another =
      engine != name_of(scenario.engine.kind) || (is_shipped && !version.empty() && nearest != own);
  if (another) return fmt::format("is of {} {}, not of {}", engine, version, own);
  return "";
}

// The rows that are about this scenario; the others go into `left_out`.
interop::CsvTable rows_about(const interop::CsvTable& table, const ServingScenario& scenario,
                             std::vector<planner::UnreadService>& left_out) {
  interop::CsvTable kept = table;
  kept.rows.clear();
  kept.lines.clear();
  const StatedService nothing;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const PointRow row(table, i, nothing);
    if (std::string why = about_another(row, scenario); !why.empty()) {
      left_out.push_back({row.text("id"), std::move(why), table.lines[i]});
      continue;
    }
    kept.rows.push_back(table.rows[i]);
    kept.lines.push_back(table.lines[i]);
  }
  return kept;
}

planner::MeasuredServices points_of_launch(const ServiceLearningOptions& o,
                                           const interop::CsvTable& table,
                                           reports::Origin& origin) {
  interop::ServingLaunch launch = read_service(o.launch, origin);
  LaunchedServiceOptions named;
  named.from = o.launch;
  named.model = o.model;
  named.cluster = o.cluster;
  named.engine = o.engine;
  if (!launch.weights) named.weights = o.weights;
  const LaunchedService service = launched_service(std::move(launch), named, origin);
  planner::MeasuredService known;
  known.scenario = std::make_shared<const ServingScenario>(service.scenario);
  known.deployment = service.deployment;
  return results_of_service(table, known);
}

planner::MeasuredServices points_of_rows_alone(const ServiceLearningOptions& o,
                                               const interop::CsvTable& table) {
  StatedService stated;
  stated.model = o.model;
  stated.engine = o.engine;
  stated.cells["cluster"] = o.cluster;
  stated.otherwise = o.sizes;
  stated.otherwise["precision"] = o.weights;
  stated.otherwise["kv_format"] = o.kv_cache;
  return points_in_table(table, stated);
}

}  // namespace

planner::ServingLearning learnt_service(const ServiceLearningOptions& o,
                                        const ServingScenario& scenario, reports::Origin& origin) {
  std::vector<planner::UnreadService> others;
  const interop::CsvTable table =
      rows_about(read_point_table(o.results, &origin), scenario, others);
  planner::MeasuredServices points =
      o.launch.empty() ? points_of_rows_alone(o, table) : points_of_launch(o, table, origin);
  points.name = o.results;
  points.unread.insert(points.unread.begin(), others.begin(), others.end());
  return planner::learn_service(points);
}

std::string learning_text(const planner::ServingLearning& learning, const std::string& results) {
  const auto percent = [](double spread) { return number_text(100.0 * spread, 2) + " %"; };
  std::string text = fmt::format(
      "Learnt from {} configuration{} ({} result{}) of {}: steps take {} of the predicted time ({} "
      "to {}), which the numbers have; one standard deviation of a step's time is {} (before: {}).",
      learning.configurations, learning.configurations == 1 ? "" : "s", learning.results,
      learning.results == 1 ? "" : "s", results, number_text(learning.factor, 3),
      number_text(learning.factor_low, 3), number_text(learning.factor_high, 3),
      percent(learning.spread), percent(learning.spread_before));
  if (!learning.left_out.empty()) {
    const planner::UnreadService& first = learning.left_out.front();
    text +=
        fmt::format(" {} row{} left out; the first, {}, {}.", learning.left_out.size(),
                    learning.left_out.size() == 1 ? " is" : "s are",
                    first.id.empty() ? fmt::format("line {}", first.line) : first.id, first.reason);
  }
  return text;
}

}  // namespace meshwright::app
