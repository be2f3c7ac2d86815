// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/unit/sim/hardware/nodes_of_eight.h"

namespace meshwright {
namespace {

// Nodes of 8: 400 GB/s inside, a 50 GB/s NIC a device, all of it sustained.
std::vector<int> range(int first, int count, int stride = 1) {
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) devices.push_back(first + i * stride);
  return devices;
}

double gigabytes_a_second(BytesPerSecond rate) { return rate / gigabytes_per_second(1); }

std::vector<double> rings(const Cluster& c, const std::vector<std::vector<int>>& groups) {
  const Topology t = Topology::of(c);
  std::vector<Traffic> traffic;
  for (const auto& g : groups) traffic.push_back(ring_traffic(t, g));
  std::vector<double> result;
  for (const BytesPerSecond b : concurrent_bus_bandwidth(t, traffic)) {
    result.push_back(gigabytes_a_second(b));
  }
  return result;
}

TEST(Traffic, ARingInANodeIsAsWideAsALink) {
  EXPECT_NEAR(rings(nodes_of_eight(1), {range(0, 8)})[0], 400.0, 1e-9);
  // Two rings of four do not meet.
  EXPECT_NEAR(rings(nodes_of_eight(1), {range(0, 4), range(4, 4)})[1], 400.0, 1e-9);
  // Two rings over the same four devices share their links.
  EXPECT_NEAR(rings(nodes_of_eight(1), {range(0, 4), range(0, 4)})[1], 200.0, 1e-9);
}

TEST(Traffic, ARingOverWholeNodesUsesAllNics) {
  // 8 channels, a NIC each: 8 * 50 = 400 GB/s.
  EXPECT_NEAR(rings(nodes_of_eight(4), {range(0, 32)})[0], 400.0, 1e-9);
  // With 200 GB/s inside, the links are the narrower.
  Cluster c = nodes_of_eight(4);
  c.intra_node.bandwidth = gigabytes_per_second(200);
  EXPECT_NEAR(rings(c, {range(0, 32)})[0], 200.0, 1e-9);
}

TEST(Traffic, DataRingsOfEightRailsHaveANicEach) {
  std::vector<std::vector<int>> groups;
  for (int i = 0; i < 8; ++i) groups.push_back(range(i, 4, 8));
  for (const double rate : rings(nodes_of_eight(4), groups)) EXPECT_NEAR(rate, 50.0, 1e-9);
}

TEST(Traffic, DataRingsShareFewerNics) {
  // 2 NICs of 200 GB/s: 4 rings each. Alone, a ring has the whole NIC.
  Cluster c = nodes_of_eight(4);
  c.nics_per_node = 2;
  std::vector<std::vector<int>> groups;
  for (int i = 0; i < 8; ++i) groups.push_back(range(i, 4, 8));
  for (const double rate : rings(c, groups)) EXPECT_NEAR(rate, 50.0, 1e-9);
  EXPECT_NEAR(rings(c, {groups[0]})[0], 200.0, 1e-9);
}

TEST(Traffic, ANeighbourRingCrossesTheSpineOnce) {
  // 4 nodes, 2 a leaf, spine narrowed to a quarter: a rail's leaf sends 2 * 50 / 4 = 25 GB/s up. A
  // rail's ring over nodes 0 1 2 3 leaves each leaf once: 25 GB/s. Over-subscribed twice: 50.
  Cluster c = nodes_of_eight(4);
  c.nodes_per_leaf = 2;
  c.spine_oversubscription = 4.0;
  EXPECT_NEAR(rings(c, {range(0, 4, 8)})[0], 25.0, 1e-9);
  c.spine_oversubscription = 2.0;
  EXPECT_NEAR(rings(c, {range(0, 4, 8)})[0], 50.0, 1e-9);
  // Two rings of two nodes that are a leaf apart, on one rail: each leaf sends both: 50 / 2.
  EXPECT_NEAR(rings(c, {{0, 16}, {8, 24}})[0], 25.0, 1e-9);
}

TEST(Traffic, TheEmptiestNodeSaysHowManyNicsARingUses) {
  // One member on node 0, four on node 1: one channel, one NIC.
  EXPECT_NEAR(rings(nodes_of_eight(2), {range(7, 5)})[0], 50.0, 1e-9);
  // Three and three: 150 GB/s.
  EXPECT_NEAR(rings(nodes_of_eight(2), {range(5, 6)})[0], 150.0, 1e-9);
}

TEST(Traffic, APairOnABridgeIsFasterThanARingOverAllPairs) {
  Cluster c = nodes_of_eight(1);
  c.node_fabric = NodeFabric::pcie;
  c.intra_node.bandwidth = gigabytes_per_second(32);
  c.gpus_per_island = 2;
  c.island.bandwidth = gigabytes_per_second(300);
  c.island.bandwidth_fraction = 0.8;
  EXPECT_NEAR(rings(c, {{0, 1}, {2, 3}})[0], 240.0, 1e-9);
  EXPECT_NEAR(rings(c, {range(0, 8)})[0], 32.0, 1e-9);
  // Four pairs across the bridges at once: each device's own link.
  EXPECT_NEAR(rings(c, {{0, 2}, {1, 3}, {4, 6}, {5, 7}})[0], 32.0, 1e-9);
}

TEST(Traffic, AnAllToAllIsBoundByWhatLeavesTheNode) {
  // 16 ranks on 2 nodes: of 15 shares that a device sends, 8 leave on its NIC: 50 * 15 / 8.
  const Topology t = Topology::of(nodes_of_eight(2));
  const Traffic a2a = all_to_all_traffic(t, range(0, 16));
  const Traffic all[] = {a2a};
  EXPECT_NEAR(gigabytes_a_second(concurrent_bus_bandwidth(t, all)[0]), 50.0 * 15 / 8, 1e-9);
}

TEST(Traffic, SendsOfOneNodeShareItsOnlyNic) {
  Cluster c = nodes_of_eight(2);
  c.nics_per_node = 1;
  const Topology t = Topology::of(c);
  std::vector<Traffic> sends;
  for (int i = 0; i < 8; ++i) sends.push_back(send_traffic(t, i, i + 8));
  // One NIC of 8 * 50.
  for (const BytesPerSecond b : concurrent_bus_bandwidth(t, sends)) {
    EXPECT_NEAR(gigabytes_a_second(b), 50.0, 1e-9);
  }
}

TEST(Traffic, UseOfAWireIsOneWhereItIsTheBottleneck) {
  const Topology t = Topology::of(nodes_of_eight(2));
  const Traffic ring[] = {ring_traffic(t, range(0, 16))};
  const std::vector<double> use = wire_use(t, ring);
  EXPECT_NEAR(*std::max_element(use.begin(), use.end()), 1.0, 1e-12);
  // A ring on node 0 leaves node 1 alone.
  const Traffic inside[] = {ring_traffic(t, range(0, 8))};
  const std::vector<double> alone = wire_use(t, inside);
  EXPECT_NEAR(std::accumulate(alone.begin(), alone.end(), 0.0), 16.0, 1e-12);
}

TEST(Traffic, MoreBandwidthIsNeverSlower) {
  std::vector<std::vector<int>> groups;
  for (int i = 0; i < 8; ++i) groups.push_back(range(i, 4, 8));
  groups.push_back(range(0, 32));
  Cluster c = nodes_of_eight(4);
  c.spine_oversubscription = 2.0;
  c.nodes_per_leaf = 2;
  const auto before = rings(c, groups);
  c.inter_node.bandwidth *= 2.0;
  const auto after = rings(c, groups);
  for (std::size_t i = 0; i < groups.size(); ++i) EXPECT_GE(after[i], before[i]);
}

}  // namespace
}  // namespace meshwright
