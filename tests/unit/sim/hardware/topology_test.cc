// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace meshwright {
namespace {

using ::testing::ElementsAre;

// 300 GB/s and 1 us inside, 25 GB/s a device and 8 us across.
Cluster linked_nodes(int nodes) {
  Cluster c;
  c.gpus_per_node = 8;
  c.num_nodes = nodes;
  c.intra_node.bandwidth = gigabytes_per_second(300);
  c.intra_node.latency = microseconds(1);
  c.inter_node.bandwidth = gigabytes_per_second(25);
  c.inter_node.latency = microseconds(8);
  return c;
}

std::vector<std::string> names(const Topology& t, const std::vector<DirectedWire>& route) {
  std::vector<std::string> reached;
  for (const DirectedWire d : route) {
    const Wire& wire = t.wiring().wires[static_cast<std::size_t>(d / 2)];
    reached.push_back(
        t.wiring().parts[static_cast<std::size_t>(d % 2 == 0 ? wire.to : wire.from)].name);
  }
  return reached;
}

BytesPerSecond narrowest(const Topology& t, int from, int to) {
  BytesPerSecond least = bytes_per_second(1e300);
  for (const DirectedWire d : t.route(from, to)) {
    least = std::min(least, t.wiring().wires[static_cast<std::size_t>(d / 2)].bandwidth);
  }
  return least;
}

Seconds latency(const Topology& t, int from, int to) {
  Seconds sum;
  for (const DirectedWire d : t.route(from, to)) {
    sum += t.wiring().wires[static_cast<std::size_t>(d / 2)].latency;
  }
  return sum;
}

TEST(Topology, OneNodeIsAStar) {
  const Topology t = Topology::of(linked_nodes(1));
  EXPECT_EQ(t.num_devices(), 8);
  EXPECT_EQ(t.num_vertices(), 9U);
  EXPECT_EQ(t.num_edges(), 8U);
  EXPECT_EQ(narrowest(t, 0, 7), gigabytes_per_second(300));
  EXPECT_NEAR(latency(t, 0, 7).value(), 1e-6, 1e-15);
  EXPECT_THAT(names(t, t.route(0, 7)), ElementsAre("node0", "device7"));
}

TEST(Topology, NodesAreJoinedByOneLeafARail) {
  // 2 nodes: 16 devices, 2 switches, 16 NICs, 16 PCIe switches, 8 leaves (one a rail), 1 spine.
  const Topology t = Topology::of(linked_nodes(2));
  EXPECT_EQ(t.num_vertices(), 16U * 3 + 2 + 8 + 1);
  // device-switch 16, device-PCIe 16, PCIe-NIC 16, NIC-leaf 16, leaf-spine 8.
  EXPECT_EQ(t.num_edges(), 16U * 4 + 8);
  EXPECT_EQ(narrowest(t, 0, 8), gigabytes_per_second(25));
  EXPECT_NEAR(latency(t, 0, 8).value(), 8e-6, 1e-15);
  EXPECT_THAT(names(t, t.route(0, 8)), ElementsAre("node0.pcie0", "node0.nic0", "leaf0",
                                                   "node1.nic0", "node1.pcie0", "device8"));
}

TEST(Topology, SharedNicsAreWiderEach) {
  // 4 NICs for 8 devices at 25 GB/s a device: 50 GB/s a NIC.
  Cluster c = linked_nodes(2);
  c.nics_per_node = 4;
  EXPECT_EQ(narrowest(Topology::of(c), 0, 8), gigabytes_per_second(50));
}

TEST(Topology, BisectionIsWhatTheNicsOfHalfTheNodesCarry) {
  // 2 nodes: the 8 NICs of node 0 carry 8 * 25 = 200 GB/s.
  EXPECT_NEAR(Topology::of(linked_nodes(2)).bisection_bandwidth().value(), 200e9, 1e6);
  // 1 node: 4 devices at 300 GB/s each send at once.
  EXPECT_NEAR(Topology::of(linked_nodes(1)).bisection_bandwidth().value(), 1200e9, 1e6);
}

TEST(Topology, AnOversubscribedSpineHalvesTheBisection) {
  // 4 nodes, 2 below a leaf: halves meet in the spine only. 2 nodes * 8 NICs * 25 = 400 GB/s.
  Cluster c = linked_nodes(4);
  c.nodes_per_leaf = 2;
  EXPECT_NEAR(Topology::of(c).bisection_bandwidth().value(), 400e9, 1e6);
  c.spine_oversubscription = 2.0;
  EXPECT_NEAR(Topology::of(c).bisection_bandwidth().value(), 200e9, 1e6);
}

TEST(Topology, AThousandDevicesAreNoTrouble) {
  const Topology t = Topology::of(linked_nodes(128));
  EXPECT_EQ(t.num_devices(), 1024);
  EXPECT_EQ(narrowest(t, 0, 1), gigabytes_per_second(300));
  EXPECT_EQ(narrowest(t, 0, 1023), gigabytes_per_second(25));
  // 64 nodes * 8 NICs * 25 GB/s; leaves of 32 nodes, full spine.
  EXPECT_NEAR(t.bisection_bandwidth().value(), 64 * 8 * 25e9, 1e7);
}

TEST(Topology, NoDeviceSendsFasterThanItsPcieLink) {
  Cluster c = linked_nodes(2);
  c.device.host_link = gigabytes_per_second(20);
  EXPECT_EQ(narrowest(Topology::of(c), 0, 8), gigabytes_per_second(20));
}

TEST(Topology, ARouteStaysOnItsRailAndInItsLeaf) {
  const Topology t = Topology::of(linked_nodes(2));
  EXPECT_THAT(names(t, t.route(3, 11)), ElementsAre("node0.pcie3", "node0.nic3", "leaf3",
                                                    "node1.nic3", "node1.pcie3", "device11"));
  EXPECT_THAT(names(t, t.route(3, 5)), ElementsAre("node0", "device5"));
}

TEST(Topology, AnotherRailIsReachedThroughTheDeviceThatSitsOnIt) {
  // Device 3 to device 8 (rail 0): over the node's switch to device 0, then rail 0.
  const Topology t = Topology::of(linked_nodes(2));
  EXPECT_THAT(names(t, t.route(3, 8)),
              ElementsAre("node0", "device0", "node0.pcie0", "node0.nic0", "leaf0", "node1.nic0",
                          "node1.pcie0", "device8"));
}

TEST(Topology, PodsMeetInTheCore) {
  // 8 nodes, 2 a leaf, 4 a pod: node 0 to node 7 climbs to the core, node 0 to node 2 to a spine.
  Cluster c = linked_nodes(8);
  c.network = NetworkFabric::fat_tree;
  c.nodes_per_leaf = 2;
  c.nodes_per_pod = 4;
  const Topology t = Topology::of(c);
  EXPECT_THAT(names(t, t.route(0, 56)),
              ElementsAre("node0.pcie0", "node0.nic0", "leaf0", "spine0", "core", "spine1", "leaf3",
                          "node7.nic0", "node7.pcie0", "device56"));
  EXPECT_EQ(t.route(0, 16).size(), 8U);
  // Halves are the pods: 4 nodes * 8 * 25 GB/s, halved by the core.
  c.core_oversubscription = 2.0;
  EXPECT_NEAR(Topology::of(c).bisection_bandwidth().value(), 400e9, 1e6);
}

TEST(Topology, APlainFatTreeHasAllNicsOfANodeOnOneLeaf) {
  Cluster c = linked_nodes(4);
  c.network = NetworkFabric::fat_tree;
  c.nodes_per_leaf = 2;
  const Topology t = Topology::of(c);
  // Another rail of a node below the same leaf: up to the leaf only.
  EXPECT_THAT(names(t, t.route(0, 8)), ElementsAre("node0.pcie0", "node0.nic0", "leaf0",
                                                   "node1.nic0", "node1.pcie0", "device8"));
}

TEST(Topology, IslandsOfTwoAreJoinedByABridge) {
  Cluster c = linked_nodes(1);
  c.node_fabric = NodeFabric::pcie;
  c.gpus_per_island = 2;
  c.island.bandwidth = gigabytes_per_second(600);
  const Topology t = Topology::of(c);
  EXPECT_THAT(names(t, t.route(2, 3)), ElementsAre("device3"));
  EXPECT_EQ(narrowest(t, 2, 3), gigabytes_per_second(600));
  EXPECT_THAT(names(t, t.route(1, 2)), ElementsAre("node0", "device2"));
  EXPECT_EQ(narrowest(t, 1, 2), gigabytes_per_second(300));
}

TEST(Topology, APcieBoxReachesItsNicOverTheRoot) {
  Cluster c = linked_nodes(2);
  c.node_fabric = NodeFabric::pcie;
  c.nics_per_node = 1;
  const Topology t = Topology::of(c);
  EXPECT_THAT(names(t, t.route(3, 8)),
              ElementsAre("node0", "node0.nic0", "leaf0", "node1.nic0", "node1", "device8"));
}

}  // namespace
}  // namespace meshwright
