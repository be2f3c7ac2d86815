// SPDX-License-Identifier: Apache-2.0
// The named rules that a layout must obey. Each has a name, a sentence and a test.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright {

enum class Rule {
  world_size_equals_gpus,
  attention_heads_divide_by_tensor_size,
  query_groups_divide_by_tensor_size,
  ffn_divides_by_tensor_size,
  hidden_divides_by_tensor_size,
  sequence_divides_by_sequence_parallel_size,
  sequence_parallel_needs_tensor_parallel,
  layers_divide_by_pipeline_size,
  layers_divide_by_virtual_pipeline_size,
  interleaving_needs_pipeline,
  interleaving_needs_micro_batches_multiple_of_pipeline,
  schedule_needs_pipeline,
  schedule_fixes_virtual_size,
  schedule_needs_micro_batches,
  dualpipe_needs_even_pipeline,
  uneven_stages_leave_layers_for_the_rest,
  one_way_of_uneven_stages,
  batch_divides_by_micro_batch_times_data,
  sequence_divides_by_context_size,
  ulysses_heads_divide_by_context_size,
  hierarchical_context_size_divides,
  experts_divide_by_expert_size,
  expert_parallel_needs_experts,
  expert_mesh_divides_world,
  expert_ffn_divides_by_expert_tensor_size,
  experts_with_tensor_parallel_need_sequence_parallel,
  zero_shard_size_divides_data,
  zero_2_3_forbids_pipeline,
  overlap_param_gather_needs_overlap_grad_reduce,
  overlap_param_gather_needs_sharded_optimizer,
  tp_comm_overlap_needs_sequence_parallel,
  recompute_layers_within_stage,
  offloaded_layers_within_stage,
  memory_capacity,
};
inline constexpr int kNumRules = static_cast<int>(Rule::memory_capacity) + 1;

struct RuleText {
  Rule rule;
  std::string_view name;         // stable, snake_case, as in JSON
  std::string_view requirement;  // one sentence: what must hold
  std::string_view reason;       // why, with its source
  std::string_view remedy;       // what to change
};
std::span<const RuleText> all_rules();
const RuleText& rule_text(Rule rule);

struct Violation {
  Rule rule;
  double needed = 0;     // divisor, smallest legal value, or bytes for memory_capacity
  double available = 0;  // what the layout, model or device has of it
};

// The first violated rule in the order of the enumeration, or nothing. gpus = 0: any world size.
// Never allocates and never throws. memory_capacity is not checked here (estimate does). All sizes
// of the layout are at least 1 (the reader and the search see to it).
std::optional<Violation> check_layout(const Model& model, const Job& job, const Layout& layout,
                                      int gpus);

// check_layout in three parts, first to last: the first that finds something is what it finds. A
// search judges many layouts at once by the part that they share.
// Sizes, schedule, micro-batch, context, experts: reads nothing of ZeRO, overlap or offload.
std::optional<Violation> check_sizes(const Model& model, const Job& job, const Layout& layout,
                                     int gpus);
// ZeRO and what of its communication overlaps: reads the sizes, zero_* and overlap_*_gather/reduce.
std::optional<Violation> check_data_switches(const Layout& layout);
// Tensor-parallel overlap, recomputed and offloaded layers of a stage.
std::optional<Violation> check_stage_switches(const Model& model, const Layout& layout);

// A sentence with the numbers of this violation, e.g. "64 attention heads do not divide by tensor
// size 3".
std::string describe(const Violation& violation, const Model& model, const Job& job,
                     const Layout& layout);

}  // namespace meshwright
