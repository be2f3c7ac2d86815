// SPDX-License-Identifier: Apache-2.0
// Looks at every layout of a space and keeps the best, exactly.
#pragma once

#include <array>
#include <vector>

#include "planner/search/plan.h"

namespace meshwright::planner {

// How layers are divided over stages: as Layout's fields of these names.
struct StageSplit {
  int num_layers_in_first_pipeline_stage = 0;
  int num_layers_in_last_pipeline_stage = 0;
  bool account_for_embedding_in_pipeline_split = false;
  bool account_for_loss_in_pipeline_split = false;
  bool operator==(const StageSplit&) const = default;
};

// Values to try on each axis; an empty list means the default that space.h names.
struct SearchSpace {
  std::vector<int> tensor_parallel_sizes;
  std::vector<int> pipeline_parallel_sizes;
  std::vector<int> virtual_pipeline_parallel_sizes;
  std::vector<int> context_parallel_sizes;
  std::vector<int> expert_parallel_sizes;
  std::vector<int> expert_tensor_parallel_sizes;
  std::vector<int> micro_batch_sizes;
  std::vector<int> zero_stages;
  std::vector<int> zero_shard_sizes;
  std::vector<bool> sequence_parallel;
  std::vector<RecomputeGranularity> recompute;
  std::vector<int> recompute_num_layers;  // of a stage, where recompute is full; 0: all
  std::vector<PipelineSchedule> schedules;
  std::vector<StageSplit> stage_splits;
  std::vector<ContextParallelAlgorithm> cp_comm_types;
  std::vector<RankOrder> rank_orders;
  std::vector<bool> overlap_grad_reduce;
  std::vector<bool> overlap_param_gather;
  std::vector<bool> overlap_p2p_comm;
  std::vector<bool> tp_comm_overlap;
  std::vector<bool> scatter_gather_p2p;
  std::vector<bool> optimizer_offload;
  std::vector<int> cpu_offloading_num_layers;
};

struct SearchOptions {
  SearchSpace space;
  int top = 10;                  // fastest layouts to keep; the Pareto set is kept besides
  double memory_headroom = 0.0;  // share of the device's memory to leave free
  // Leave out the time of layouts that proven bounds keep from the answer. Changes no answer.
  bool branch_and_bound = true;
};

// Deterministic: the same arguments give the same plan, ties broken by the order of enumeration.
Plan search(const Model& model, const Cluster& cluster, const Job& job,
            const SearchOptions& options);

}  // namespace meshwright::planner
