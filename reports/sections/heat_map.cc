// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <vector>

#include "reports/sections/sections_json.h"
#include "sim/layout/short_name.h"
#include "sim/step/evaluate.h"

namespace meshwright::reports {
namespace {

constexpr int kLargestTensorSize = 64;
constexpr int kLargestPipelineSize = 128;

// The sizes that the search was told to try; else powers of two that divide the GPUs, and what the
// ranking holds.
std::vector<int> sizes(const std::vector<int>& told, int gpus, int limit,
                       const std::vector<Estimate>& ranked, int Layout::*size) {
  if (!told.empty()) return told;
  std::set<int> all;
  for (int n = 1; n <= std::min(limit, gpus); n *= 2) {
    if (gpus % n == 0) all.insert(n);
  }
  for (const Estimate& e : ranked) all.insert(e.layout.*size);
  return {all.begin(), all.end()};
}

// Memory is the reason worth reading: a layout that obeys every rule and is too large.
const planner::Rejection* reason_of(const planner::Plan& cell) {
  for (const planner::Rejection& r : cell.rejections) {
    if (r.rule == Rule::memory_capacity) return &r;
  }
  return cell.rejections.empty() ? nullptr : &cell.rejections.front();
}

Json cell_of(const SizeCell& cell) {
  Json json{{"tensor_parallel_size", cell.tensor_parallel_size},
            {"pipeline_parallel_size", cell.pipeline_parallel_size}};
  if (!cell.plan.ranked.empty()) {
    const Estimate& best = cell.plan.ranked.front();
    json["step_time_seconds"] = best.step_time.value();
    json["peak_memory_bytes"] = best.peak_memory().value();
    json["short_name"] = short_name(best.layout);
    return json;
  }
  json["step_time_seconds"] = nullptr;
  const planner::Rejection* reason = reason_of(cell.plan);
  json["rule"] = reason == nullptr ? "no_layout" : rule_text(reason->rule).name;
  json["reason"] = reason == nullptr ? "no layout of these sizes" : reason->sentence;
  return json;
}

}  // namespace

std::vector<SizeCell> search_by_sizes(const planner::Plan& plan,
                                      const planner::SearchOptions& search) {
  const int gpus = plan.cluster.num_gpus();
  const auto tensor = sizes(search.space[&Layout::tensor_parallel_size], gpus, kLargestTensorSize,
                            plan.ranked, &Layout::tensor_parallel_size);
  const auto pipeline = sizes(search.space[&Layout::pipeline_parallel_size], gpus,
                              std::min(kLargestPipelineSize, plan.model.num_layers), plan.ranked,
                              &Layout::pipeline_parallel_size);
  std::vector<SizeCell> cells;
  for (const int t : tensor) {
    for (const int p : pipeline) {
      planner::SearchOptions one = search;
      one.top = 1;
      one.space[&Layout::tensor_parallel_size] = {t};
      one.space[&Layout::pipeline_parallel_size] = {p};
      cells.push_back({t, p, planner::search(plan.model, plan.cluster, plan.job, one)});
    }
  }
  return cells;
}

Json heat_map_section(const std::vector<SizeCell>& cells) {
  Json all = Json::array();
  std::set<int> kept_tensor;
  std::set<int> kept_pipeline;
  for (const SizeCell& cell : cells) {
    const Json json = cell_of(cell);
    const bool worth_showing = !json["step_time_seconds"].is_null() ||
                               json["rule"] == rule_text(Rule::memory_capacity).name;
    if (worth_showing) {
      kept_tensor.insert(cell.tensor_parallel_size);
      kept_pipeline.insert(cell.pipeline_parallel_size);
    }
    all.push_back(json);
  }
  Json kept = Json::array();
  for (const Json& cell : all) {
    if (kept_tensor.count(cell["tensor_parallel_size"].get<int>()) == 0) continue;
    if (kept_pipeline.count(cell["pipeline_parallel_size"].get<int>()) == 0) continue;
    kept.push_back(cell);
  }
  return {{"tensor_parallel_sizes", kept_tensor},
          {"pipeline_parallel_sizes", kept_pipeline},
          {"cells", std::move(kept)}};
}

Json too_large_section(const planner::Plan& plan, const std::vector<SizeCell>& cells) {
  Json json = Json::array();
  CostTable table(plan.model, plan.cluster, plan.job);
  for (const SizeCell& cell : cells) {
    const planner::Rejection* reason = reason_of(cell.plan);
    if (reason == nullptr || reason->rule != Rule::memory_capacity) continue;
    const Layout& layout = reason->nearest.layout;
    const Evaluation evaluation = evaluate(table, layout, MemoryLimit::reported);
    json.push_back({{"short_name", short_name(layout)},
                    {"step_time_seconds", evaluation.step_time.value()},
                    {"peak_memory_bytes", evaluation.peak_memory.value()},
                    {"reason", reason->sentence},
                    {"smallest_change", reason->smallest_change}});
  }
  return json;
}

}  // namespace meshwright::reports
