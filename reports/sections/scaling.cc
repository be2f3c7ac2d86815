// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/answers_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports {
namespace {

// A quarter to four times the GPUs, in parts of a node or whole nodes.
std::vector<int> counts_around(const Cluster& cluster) {
  const int gpus = cluster.num_gpus();
  const bool links_nodes = cluster.inter_node.bandwidth.value() > 0.0;
  std::set<int> counts;
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    const int count = static_cast<int>(gpus * factor);
    const bool parts = count >= 1 && count * 4 % gpus == 0;
    const bool whole = count <= cluster.gpus_per_node || count % cluster.gpus_per_node == 0;
    const bool reachable = count <= cluster.gpus_per_node || count <= gpus || links_nodes;
    if (parts && whole && reachable) counts.insert(count);
  }
  return {counts.begin(), counts.end()};
}

Json looked_at_again(const planner::Plan& plan, const planner::SearchOptions& search) {
  const std::vector<int> counts = counts_around(plan.cluster);
  if (counts.size() < 2) return {};
  const planner::ScalingOptions options{
      .gpus = counts, .objective = planner::Objective::step_time, .limits = {}};
  Json json = to_json(planner::scaling(planner::scenario_of(plan), search, options));
  // Nobody asked for a choice between counts, and theirs are long lists.
  json["choices"] = Json::array();
  json["best"] = nullptr;
  return json;
}

double tokens_per_second(const Json& point) {
  return point["gpus"].get<double>() * point["tokens_per_second_per_gpu"].get<double>();
}

std::string sentence(const planner::Plan& plan, const Json& points) {
  std::string text = fmt::format(
      "The same batch of {} sequences on more or fewer GPUs, each with its own best layout.",
      count_text(plan.job.global_batch_size));
  const Json* fewest = nullptr;
  const Json* most = nullptr;
  for (const Json& point : points) {
    if (!point.contains("step_time_seconds")) continue;
    if (fewest == nullptr || point["gpus"] < (*fewest)["gpus"]) fewest = &point;
    if (most == nullptr || point["gpus"] > (*most)["gpus"]) most = &point;
  }
  if (fewest == most) return text;
  const double more = (*most)["gpus"].get<double>() / (*fewest)["gpus"].get<double>();
  return text +
         fmt::format(" {} GPUs, {} times as many as {}, give {} times the tokens per second.",
                     count_text((*most)["gpus"].get<std::int64_t>()), significant(more, 3),
                     count_text((*fewest)["gpus"].get<std::int64_t>()),
                     significant(tokens_per_second(*most) / tokens_per_second(*fewest), 3));
}

// `asked` comes from a file that somebody may have edited.
bool is_scaling(const Json& asked) {
  if (!asked.is_object() || !asked.contains("points") || !asked["points"].is_array()) return false;
  return std::all_of(asked["points"].begin(), asked["points"].end(), [](const Json& point) {
    if (!point.is_object() || !point.contains("gpus") || !point["gpus"].is_number()) return false;
    return !point.contains("step_time_seconds") || (point.contains("tokens_per_second_per_gpu") &&
                                                    point["tokens_per_second_per_gpu"].is_number());
  });
}

}  // namespace

Json scaling_section(const planner::Plan& plan, const planner::SearchOptions& search,
                     const Json& asked) {
  if (plan.ranked.empty()) return {};
  Json json = is_scaling(asked) ? asked : looked_at_again(plan, search);
  if (!json.is_object()) return {};
  json["sentence"] = sentence(plan, json["points"]);
  json["planned_gpus"] = plan.cluster.num_gpus();
  return json;
}

}  // namespace meshwright::reports
