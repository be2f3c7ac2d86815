// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/names.h"

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

Json point_of(const planner::Plan& found, int gpus) {
  Json json{{"gpus", gpus}};
  if (found.ranked.empty()) {
    json["step_time_seconds"] = nullptr;
    json["reason"] =
        found.rejections.empty() ? "no layout of this size" : found.rejections.front().sentence;
    return json;
  }
  const Estimate& best = found.ranked.front();
  json["step_time_seconds"] = best.step_time.value();
  json["step_time_low_seconds"] = best.step_time_low.value();
  json["step_time_high_seconds"] = best.step_time_high.value();
  json["tokens_per_second"] = best.tokens_per_second_per_gpu * gpus;
  json["tokens_per_second_per_gpu"] = best.tokens_per_second_per_gpu;
  json["short_name"] = short_name(best.layout);
  return json;
}

std::string sentence(const planner::Plan& plan, const Json& points) {
  std::string text = fmt::format(
      "The same batch of {} sequences on more or fewer GPUs, each with its own best layout.",
      count_text(plan.job.global_batch_size));
  const int gpus = plan.cluster.num_gpus();
  for (const Json& point : points) {
    if (point["gpus"] != 2 * gpus || !point.contains("efficiency")) continue;
    text +=
        fmt::format(" {} GPUs give {} times the tokens per second of {}.", count_text(2L * gpus),
                    significant(2.0 * point["efficiency"].get<double>(), 3), count_text(gpus));
  }
  return text;
}

}  // namespace

Json scaling_section(const planner::Plan& plan, const planner::SearchOptions& search) {
  if (plan.ranked.empty()) return {};
  const std::vector<int> counts = counts_around(plan.cluster);
  if (counts.size() < 2) return {};
  planner::SearchOptions one = search;
  one.top = 1;
  Json points = Json::array();
  for (const int gpus : counts) {
    const Cluster cluster = scaled_to(plan.cluster, gpus);
    Json point = point_of(planner::search(plan.model, cluster, plan.job, one), gpus);
    if (point.contains("tokens_per_second_per_gpu")) {
      point["efficiency"] = point["tokens_per_second_per_gpu"].get<double>() /
                            plan.ranked.front().tokens_per_second_per_gpu;
    }
    points.push_back(std::move(point));
  }
  return {{"sentence", sentence(plan, points)}, {"counts", std::move(points)}};
}

}  // namespace meshwright::reports
