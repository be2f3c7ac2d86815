// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/pairs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "calibrate/measure/group_shapes.h"

namespace meshwright::calibrate {
namespace {

// Partner of number `i` of n in a round; -1: none. One number stays and the others rotate around
// it. With an odd n the partner of the missing number waits.
int partner(int i, int n, int round) {
  const int even = n + n % 2, turning = even - 1;
  if (i == turning) return round;
  const int other = ((2 * round - i) % turning + turning) % turning;
  const int met = other == i ? turning : other;
  return met < n ? met : -1;
}

int rounds_of(int n) { return n < 2 ? 0 : n + n % 2 - 1; }

}  // namespace

std::vector<PairRound> pair_rounds(const std::vector<int>& node_of_rank, int most) {
  const std::vector<int> local = local_numbers(node_of_rank);
  std::map<std::pair<int, int>, int> rank_at;  // node, local number
  int nodes = 0, per_node = 0;
  for (std::size_t rank = 0; rank < local.size(); ++rank) {
    rank_at[{node_of_rank[rank], local[rank]}] = static_cast<int>(rank);
    nodes = std::max(nodes, node_of_rank[rank] + 1);
    per_node = std::max(per_node, local[rank] + 1);
  }
  const auto rank_or_none = [&](int node, int number) {
    const auto found = rank_at.find({node, number});
    return node < 0 || number < 0 || found == rank_at.end() ? -1 : found->second;
  };
  std::vector<PairRound> rounds;
  for (int round = 0; round < std::min(most, rounds_of(per_node)); ++round) {
    PairRound inside{.tier = Tier::intra_node, .partner_of_rank = {}};
    for (std::size_t rank = 0; rank < local.size(); ++rank) {
      inside.partner_of_rank.push_back(
          rank_or_none(node_of_rank[rank], partner(local[rank], per_node, round)));
    }
    rounds.push_back(std::move(inside));
  }
  for (int round = 0; round < std::min(most, rounds_of(nodes)); ++round) {
    PairRound across{.tier = Tier::inter_node, .partner_of_rank = {}};
    for (std::size_t rank = 0; rank < local.size(); ++rank) {
      across.partner_of_rank.push_back(
          rank_or_none(partner(node_of_rank[rank], nodes, round), local[rank]));
    }
    rounds.push_back(std::move(across));
  }
  return rounds;
}

}  // namespace meshwright::calibrate
