// SPDX-License-Identifier: Apache-2.0
// Constants of NCCL's own cost model between nodes: src/graph/tuning.cc, since 2.28 the tables of
// its tuner plugin. Those that are used here are the same in 2.18.3, 2.20.5, 2.23.4, 2.26.2,
// 2.27.7, 2.28.9, 2.30.7, 2.31.2 and 2.32.3, but a tree's Simple step of 28 us in 2.20.5. PAT came
// with 2.23.
#pragma once

#include <array>

namespace meshwright::nccl {

// Microseconds of a step over the network.
struct NetworkSteps {
  double ll, ll128, simple;
};
inline constexpr NetworkSteps kRingSteps{2.7, 4.0, 14.0};
inline constexpr NetworkSteps kTreeSteps{5.0, 8.5, 14.0};

// GB/s that LL carries at most, all channels together, on two nodes and on more. Between nodes the
// row is the CPU's, whatever the GPU is: this is the row of Intel and Grace. Hosts of AMD have 22.5
// and 19.0, and no cluster file states its CPU.
inline constexpr std::array<double, 2> kMostOfLl{39.0, 20.4};
constexpr double most_of_ll(int nodes) { return kMostOfLl[nodes > 2 ? 1 : 0]; }

// Shares of the ring's rate. Flags take half of LL's bytes, and more of a tree's; LL128 has 120 of
// 128 bytes. A tree reaches 0.92 of a ring, with LL128 0.85 of that.
inline constexpr double kRingLlShare = 0.5;
inline constexpr double kTreeShare = 0.92;
inline constexpr double kTreeLlShare = kTreeShare / 3.8;
inline constexpr double kTreeLl128Share = 0.85 * 120.0 / 128.0;

// PAT (all-gather and reduce-scatter with one rank a node): a share of the ring's rate, Simple's
// network step over 3.5 for each doubling of the nodes, and microseconds for each rank.
inline constexpr double kPatShare = 0.75;
inline constexpr double kPatStep = 1.0 / 3.5;
inline constexpr double kPatRankUs = 2.8;

// A hop over NVLink with the Simple protocol, in microseconds; other links state their own.
inline constexpr double kSimpleNvlinkHopUs = 3.4;

}  // namespace meshwright::nccl
