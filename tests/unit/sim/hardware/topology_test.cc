// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace meshwright {
namespace {

using ::testing::ElementsAre;

// 300 GB/s and 1 us inside, 25 GB/s a device and 8 us across.
Cluster cluster(int nodes) {
  Cluster c;
  c.gpus_per_node = 8;
  c.num_nodes = nodes;
  c.intra_node.bandwidth = gigabytes_per_second(300);
  c.intra_node.latency = microseconds(1);
  c.inter_node.bandwidth = gigabytes_per_second(25);
  c.inter_node.latency = microseconds(8);
  return c;
}

TEST(Topology, OneNodeIsAStar) {
  const Topology t = Topology::of(cluster(1));
  EXPECT_EQ(t.num_devices(), 8);
  EXPECT_EQ(t.num_vertices(), 9U);
  EXPECT_EQ(t.num_edges(), 8U);
  const Path p = t.widest_path(0, 7);
  EXPECT_EQ(p.bandwidth, gigabytes_per_second(300));
  EXPECT_NEAR(p.latency.value(), 1e-6, 1e-15);
  EXPECT_THAT(p.hops, ElementsAre("device0", "node0", "device7"));
}

TEST(Topology, NodesAreJoinedByOneLeafARail) {
  // 2 nodes: 16 devices, 2 switches, 16 NICs, 8 leaves (one a rail), 1 spine.
  const Topology t = Topology::of(cluster(2));
  EXPECT_EQ(t.num_vertices(), 16U + 2 + 16 + 8 + 1);
  // device-switch 16, switch-NIC 16, NIC-leaf 16, leaf-spine 8.
  EXPECT_EQ(t.num_edges(), 16U * 3 + 8);
  const Path p = t.widest_path(0, 8);
  EXPECT_EQ(p.bandwidth, gigabytes_per_second(25));
  // Half a step to the switch on each side (1 us) and one fabric step (8 us).
  EXPECT_NEAR(p.latency.value(), 9e-6, 1e-15);
  EXPECT_EQ(p.hops.size(), 7U);  // device, node, NIC, leaf, NIC, node, device
}

TEST(Topology, SharedNicsAreWiderEach) {
  // 4 NICs for 8 devices at 25 GB/s a device: 50 GB/s a NIC.
  Cluster c = cluster(2);
  c.nics_per_node = 4;
  EXPECT_EQ(Topology::of(c).widest_path(0, 8).bandwidth, gigabytes_per_second(50));
}

TEST(Topology, ARingIsAsWideAsItsNarrowestHop) {
  const Topology t = Topology::of(cluster(2));
  std::vector<int> inside{0, 1, 2, 3};
  std::vector<int> across(16);
  std::iota(across.begin(), across.end(), 0);
  EXPECT_EQ(t.ring_bottleneck(inside).bandwidth, gigabytes_per_second(300));
  EXPECT_EQ(t.ring_bottleneck(across).bandwidth, gigabytes_per_second(25));
}

TEST(Topology, BisectionIsWhatTheNicsOfHalfTheNodesCarry) {
  // 2 nodes: the 8 NICs of node 0 carry 8 * 25 = 200 GB/s.
  EXPECT_NEAR(Topology::of(cluster(2)).bisection_bandwidth().value(), 200e9, 1e6);
  // 1 node: 4 devices at 300 GB/s each send at once.
  EXPECT_NEAR(Topology::of(cluster(1)).bisection_bandwidth().value(), 1200e9, 1e6);
}

TEST(Topology, AnOversubscribedSpineHalvesTheBisection) {
  // 4 nodes, 2 below a leaf: halves meet in the spine only. 2 nodes * 8 NICs * 25 = 400 GB/s.
  Cluster c = cluster(4);
  c.nodes_per_leaf = 2;
  EXPECT_NEAR(Topology::of(c).bisection_bandwidth().value(), 400e9, 1e6);
  c.spine_oversubscription = 2.0;
  EXPECT_NEAR(Topology::of(c).bisection_bandwidth().value(), 200e9, 1e6);
}

TEST(Topology, AThousandDevicesAreNoTrouble) {
  const Topology t = Topology::of(cluster(128));
  EXPECT_EQ(t.num_devices(), 1024);
  std::vector<int> all(1024);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(t.ring_bottleneck(all).bandwidth, gigabytes_per_second(25));
  // 64 nodes * 8 NICs * 25 GB/s; leaves of 32 nodes, full spine.
  EXPECT_NEAR(t.bisection_bandwidth().value(), 64 * 8 * 25e9, 1e7);
}

}  // namespace
}  // namespace meshwright
