// SPDX-License-Identifier: Apache-2.0
#include "sim/volume/dispatch.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

Cluster nodes_of_eight(int nodes) {
  Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.num_nodes = nodes;
  cluster.intra_node.bandwidth = gigabytes_per_second(500);
  cluster.intra_node.bandwidth_fraction = 0.8;
  cluster.inter_node.bandwidth = gigabytes_per_second(50);
  cluster.inter_node.bandwidth_fraction = 0.8;
  return cluster;
}

constexpr Routing kRouting{64, 4};

// 1 GB of copies, 7/8 of which leave a device, at 500 * 0.8 * 0.7 = 280 GB/s.
TEST(Dispatch, StaysOnTheLinksOfOneDomain) {
  const Placement node{8, 8, 1, 1};
  const Cost cost = dispatch_cost(bytes(1e9), kRouting, MoeFlexDispatcherBackend::deepep, node,
                                  nodes_of_eight(1));
  EXPECT_NEAR(cost.time.value(), 0.875 / 280, 1e-9);
}

// Two nodes: a token's 4 of 64 experts are on 2 (1 - C(32, 4) / C(64, 4)) = 1.8868 nodes and on
// 16 (1 - C(60, 4) / C(64, 4)) = 3.7205 of 16 ranks; half of the nodes are another: of 1 GB a
// device 1.8868 / 3.7205 / 2 = 0.254 GB cross at 50 * 0.8 * 0.92 = 36.8 GB/s, in 6.890 ms, beside
// 15/16 GB that are handed on at 280 GB/s, in 3.348 ms: (6.890^3 + 3.348^3)^(1/3) = 7.145 ms.
TEST(Dispatch, CrossesOnceForEachNode) {
  const Placement two{16, 8, 2, 1};
  const Cost cost =
      dispatch_cost(bytes(1e9), kRouting, MoeFlexDispatcherBackend::deepep, two, nodes_of_eight(2));
  EXPECT_NEAR(cost.time.value(), 7.145e-3, 2e-6);
}

// As above, where DeepEP was measured to reach 0.875 of 400 GB/s inside a node, and half of 40 GB/s
// between nodes: 0.875 GB at 350 GB/s; 0.254 GB at 20 GB/s in 12.678 ms, beside 15/16 GB at 350
// GB/s in 2.679 ms: (12.678^3 + 2.679^3)^(1/3) = 12.718 ms. Other libraries keep their shares.
TEST(Dispatch, TakesTheSharesThatWereMeasured) {
  Cluster cluster = nodes_of_eight(2);
  cluster.intra_node.deepep_fraction = 0.875;
  cluster.inter_node.deepep_fraction = 0.5;
  const auto time = [&](MoeFlexDispatcherBackend backend, const Placement& placement) {
    return dispatch_cost(bytes(1e9), kRouting, backend, placement, cluster).time.value();
  };
  EXPECT_NEAR(time(MoeFlexDispatcherBackend::deepep, {8, 8, 1, 1}), 0.875 / 350, 1e-9);
  EXPECT_NEAR(time(MoeFlexDispatcherBackend::deepep, {16, 8, 2, 1}), 12.718e-3, 4e-6);
  EXPECT_NEAR(time(MoeFlexDispatcherBackend::hybridep, {8, 8, 1, 1}), 0.875 / (400 * 0.67), 1e-9);
}

TEST(Dispatch, OfOneRankMovesNothing) {
  EXPECT_EQ(
      dispatch_cost(bytes(1e9), kRouting, MoeFlexDispatcherBackend::hybridep, {}, nodes_of_eight(1))
          .time,
      seconds(0));
}

}  // namespace
}  // namespace meshwright
