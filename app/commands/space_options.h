// SPDX-License-Identifier: Apache-2.0
// The axes of a search on the command line: --tp 1,2,4 --pp 1..16 --sp true.
#pragma once

#include <string>

#include "planner/search/search.h"

namespace CLI {
class App;
}

namespace meshwright::app {

struct SpaceOptions {
  std::string tp, pp, vpp, cp, ep, etp, mbs, zero, zero_shard, sp, recompute, recompute_layers,
      schedule, cp_comm, rank_order, overlap_grad_reduce, overlap_param_gather, overlap_p2p,
      tp_overlap, scatter_gather, optimizer_offload, offload_layers, first_stage_layers,
      last_stage_layers, account_embedding_loss;
  bool no_overlap = false;
};

void add_space_options(CLI::App& command, SpaceOptions& options);
// Throws InputError that names the flag.
planner::SearchSpace space_of(const SpaceOptions& options);

// "1,2,4" and "1..16" (every whole number between), mixed with commas.
std::vector<int> int_list(const std::string& flag, const std::string& text);

}  // namespace meshwright::app
