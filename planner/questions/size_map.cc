// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/size_map.h"

#include <algorithm>
#include <set>

#include "sim/step/evaluate.h"

namespace meshwright::planner {
namespace {

constexpr int kLargestTensorSize = 64;
constexpr int kLargestPipelineSize = 128;

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

// Memory is the reason worth reading: a valid layout that is too large.
std::optional<Rejection> rejection_of(const Plan& plan) {
  for (const Rejection& r : plan.rejections) {
    if (r.rule == Rule::memory_capacity) return r;
  }
  if (plan.rejections.empty()) return std::nullopt;
  return plan.rejections.front();
}

SizeCell cell_of(CostTable& table, const Plan& plan, const SearchOptions& search, int tensor,
                 int pipeline) {
  SearchOptions one = search;
  one.top = 1;
  one.space[&Layout::tensor_parallel_size] = {tensor};
  one.space[&Layout::pipeline_parallel_size] = {pipeline};
  const Plan found = planner::search(plan, one);
  SizeCell cell{.tensor_parallel_size = tensor,
                .pipeline_parallel_size = pipeline,
                .best = {},
                .rejection = rejection_of(found),
                .too_large = {}};
  if (!found.ranked.empty()) cell.best = found.ranked.front();
  if (cell.rejection && cell.rejection->rule == Rule::memory_capacity) {
    const Layout& layout = cell.rejection->nearest.layout;
    const Evaluation evaluation = evaluate(table, layout, MemoryLimit::reported);
    cell.too_large = {layout, evaluation.step_time, evaluation.peak_memory};
  }
  return cell;
}

}  // namespace

std::vector<SizeCell> size_map(const Plan& plan, const SearchOptions& search) {
  const int gpus = plan.cluster.num_gpus();
  const auto tensor = sizes(search.space[&Layout::tensor_parallel_size], gpus, kLargestTensorSize,
                            plan.ranked, &Layout::tensor_parallel_size);
  const auto pipeline = sizes(search.space[&Layout::pipeline_parallel_size], gpus,
                              std::min(kLargestPipelineSize, plan.model.num_layers), plan.ranked,
                              &Layout::pipeline_parallel_size);
  CostTable table(plan);
  std::vector<SizeCell> cells;
  for (const int t : tensor) {
    for (const int p : pipeline) cells.push_back(cell_of(table, plan, search, t, p));
  }
  return cells;
}

}  // namespace meshwright::planner
