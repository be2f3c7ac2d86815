// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/wiring.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace meshwright {
namespace {

Cluster wired_nodes(int nodes, int gpus = 8) {
  Cluster c;
  c.gpus_per_node = gpus;
  c.num_nodes = nodes;
  c.intra_node.bandwidth = gigabytes_per_second(300);
  c.intra_node.bandwidth_fraction = 0.8;
  c.inter_node.bandwidth = gigabytes_per_second(25);
  c.inter_node.bandwidth_fraction = 0.96;
  return c;
}

int count(const Wiring& w, PartKind kind) {
  return static_cast<int>(
      std::count_if(w.parts.begin(), w.parts.end(), [&](const Part& p) { return p.kind == kind; }));
}

BytesPerSecond widest(const Wiring& w, WireKind kind) {
  BytesPerSecond most;
  for (const Wire& wire : w.wires) {
    if (wire.kind == kind) most = std::max(most, wire.bandwidth);
  }
  return most;
}

TEST(Wiring, ADgxNodeHasASwitchAndANicADevice) {
  const Wiring w = wiring_of(wired_nodes(2));
  EXPECT_EQ(count(w, PartKind::device), 16);
  EXPECT_EQ(count(w, PartKind::node_switch), 2);
  EXPECT_EQ(count(w, PartKind::nic), 16);
  EXPECT_EQ(count(w, PartKind::leaf), 8);
  EXPECT_EQ(widest(w, WireKind::node), gigabytes_per_second(300));
  EXPECT_EQ(widest(w, WireKind::nic), gigabytes_per_second(25));
}

TEST(Wiring, OneNodeHasNoNetwork) {
  const Wiring w = wiring_of(wired_nodes(1, 72));
  EXPECT_EQ(w.parts.size(), 73U);
  EXPECT_EQ(w.wires.size(), 72U);
}

TEST(Wiring, SustainedIsTheShareThatTheLinkStates) {
  const Wiring w = wiring_of(wired_nodes(2));
  for (const Wire& wire : w.wires) {
    const double fraction = wire.kind == WireKind::node ? 0.8
                            : wire.kind == WireKind::pcie && wire.sustained == wire.bandwidth
                                ? 1.0
                                : 0.96;
    EXPECT_DOUBLE_EQ(wire.sustained / wire.bandwidth, fraction);
  }
}

TEST(Wiring, ThirtyTwoNicsOfEightDevicesAreEightRails) {
  Cluster c = wired_nodes(2);
  c.nics_per_node = 32;
  const Wiring w = wiring_of(c);
  EXPECT_EQ(count(w, PartKind::nic), 16);
  EXPECT_EQ(widest(w, WireKind::nic), gigabytes_per_second(25));
}

TEST(Wiring, FourNicsOfEightDevicesAreFourRailsTwiceAsWide) {
  Cluster c = wired_nodes(2);
  c.nics_per_node = 4;
  const Wiring w = wiring_of(c);
  EXPECT_EQ(count(w, PartKind::leaf), 4);
  EXPECT_EQ(widest(w, WireKind::nic), gigabytes_per_second(50));
}

TEST(Wiring, OverSubscriptionNarrowsWhatLeavesALeaf) {
  // 4 nodes of 8 below a leaf of a rail: 4 * 25 GB/s up; of the node's leaf: 4 * 8 * 25.
  Cluster c = wired_nodes(8);
  c.nodes_per_leaf = 4;
  EXPECT_EQ(widest(wiring_of(c), WireKind::leaf_up), gigabytes_per_second(100));
  c.spine_oversubscription = 4.0;
  EXPECT_EQ(widest(wiring_of(c), WireKind::leaf_up), gigabytes_per_second(25));
  c.network = NetworkFabric::fat_tree;
  EXPECT_EQ(widest(wiring_of(c), WireKind::leaf_up), gigabytes_per_second(200));
}

TEST(Wiring, ThreeLevelsHaveSpinesAPodAndACore) {
  Cluster c = wired_nodes(16);
  c.nodes_per_leaf = 2;
  c.nodes_per_pod = 8;
  const Wiring w = wiring_of(c);
  EXPECT_EQ(count(w, PartKind::leaf), 8 * 8);  // 8 blocks of 2 nodes, 8 rails
  EXPECT_EQ(count(w, PartKind::spine), 2);
  EXPECT_EQ(count(w, PartKind::core), 1);
  EXPECT_EQ(widest(w, WireKind::spine_up), gigabytes_per_second(8 * 8 * 25));
}

TEST(Wiring, IslandsOfFourHaveAPartOfTheirOwn) {
  Cluster c = wired_nodes(1);
  c.node_fabric = NodeFabric::pcie;
  c.gpus_per_island = 4;
  c.island.bandwidth = gigabytes_per_second(100);
  const Wiring w = wiring_of(c);
  EXPECT_EQ(count(w, PartKind::island), 2);
  EXPECT_EQ(w.wires.size(), 16U);
}

}  // namespace
}  // namespace meshwright
