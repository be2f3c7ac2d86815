// SPDX-License-Identifier: Apache-2.0
// Every rank with others in turn, so that each link and NIC is timed. Pure.
//
// Rounds of a round-robin tournament (circle method): in one round every rank has one partner at
// most, in all of them every two ranks of a node meet, and every two nodes, rank by rank.
#pragma once

#include <vector>

#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

struct PairRound {
  Tier tier = Tier::intra_node;
  std::vector<int> partner_of_rank;  // -1: that rank waits
};

// At most `most` rounds of each tier: enough that each rank is seen with several others.
std::vector<PairRound> pair_rounds(const std::vector<int>& node_of_rank, int most);

}  // namespace meshwright::calibrate
