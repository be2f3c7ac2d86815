// SPDX-License-Identifier: Apache-2.0
// The layouts of a search space, in a fixed order: cells (tensor, pipeline, context, expert sizes)
// that multiply to the GPU count, families within a cell (schedule, virtual size, micro-batch), and
// the settings of a family's switches (sequence parallel, recompute, ZeRO).
//
// Axes that the space leaves empty get defaults: tensor: powers of two and divisors of a node, up
// to the attention heads; pipeline: divisors of the GPU count up to the layers; virtual: divisors
// of a stage's layers; context: 1; expert: divisors of the experts; micro-batch: powers of two that
// divide a data rank's share of the batch; ZeRO 0-3 where there are data ranks.
#pragma once

#include <vector>

#include "planner/search.h"

namespace meshwright::planner {

struct Cell {
  int tensor = 1, pipeline = 1, context = 1, expert = 1, data = 1;
};

// Throws InputError when the space holds a size below 1 or a ZeRO stage outside 0-3.
std::vector<Cell> cells_of(const Model& model, const Cluster& cluster, const SearchSpace& space);

// Layouts of a cell that differ in more than switches; switches have their defaults.
std::vector<Layout> families_of(const Model& model, const Job& job, const SearchSpace& space,
                                const Cell& cell);

// The family's layouts: every setting of the switches. Overlap switches follow from the others.
std::vector<Layout> members_of(const SearchSpace& space, const Layout& family);

// Sets overlap_grad_reduce, overlap_param_gather and overlap_p2p_comm as Megatron-LM would run the
// layout: gradients overlap where there are data ranks, parameters where the optimizer is sharded,
// stage-to-stage messages with the interleaved schedule (arguments.py).
void set_overlaps(Layout& layout, bool overlap_grad_reduce);

}  // namespace meshwright::planner
