// SPDX-License-Identifier: Apache-2.0
// Looks at every layout of a space and keeps the best, exactly.
#pragma once

#include <vector>

#include "planner/plan.h"

namespace meshwright::planner {

// Values to try on each axis; an empty list means "all that can make sense for this model and GPU
// count".
struct SearchSpace {
  std::vector<int> tensor_parallel_sizes;
  std::vector<int> pipeline_parallel_sizes;
  std::vector<int> virtual_pipeline_parallel_sizes;  // empty: divisors of a stage's layers
  std::vector<int> context_parallel_sizes;           // empty: 1 only
  std::vector<int> expert_parallel_sizes;
  std::vector<int> micro_batch_sizes;
  std::vector<int> zero_stages;
  std::vector<bool> sequence_parallel;
  std::vector<RecomputeGranularity> recompute;
  std::vector<PipelineSchedule> schedules;  // empty: 1f1b, interleaved when virtual > 1
  bool overlap_grad_reduce = true;          // and parameter gather, where legal
};

struct SearchOptions {
  SearchSpace space;
  int top = 10;                  // fastest layouts to keep; the Pareto set is kept besides
  double memory_headroom = 0.0;  // share of the device's memory to leave free
};

// Deterministic: the same arguments give the same plan, ties broken by the order of enumeration.
Plan search(const Model& model, const Cluster& cluster, const Job& job,
            const SearchOptions& options);

}  // namespace meshwright::planner
