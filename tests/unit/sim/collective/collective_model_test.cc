// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/collective_model.h"

#include <gtest/gtest.h>

#include <limits>

#include "sim/hardware/placement.h"

namespace meshwright {
namespace {

constexpr Collective kAll[] = {Collective::all_reduce,     Collective::all_gather,
                               Collective::reduce_scatter, Collective::all_to_all,
                               Collective::broadcast,      Collective::send_recv};

// 400 GB/s inside at 5 + 1 us a step; a 50 GB/s NIC a device at 20 + 8 us a step.
Cluster even_nodes() {
  Cluster c;
  c.gpus_per_node = 8;
  c.num_nodes = 4;
  c.intra_node.bandwidth = gigabytes_per_second(400);
  c.intra_node.bandwidth_fraction = 1.0;
  c.intra_node.base_latency = microseconds(5);
  c.intra_node.latency = microseconds(1);
  c.inter_node.bandwidth = gigabytes_per_second(50);
  c.inter_node.bandwidth_fraction = 1.0;
  c.inter_node.base_latency = microseconds(20);
  c.inter_node.latency = microseconds(8);
  return c;
}

double us(Collective collective, double payload, const Placement& p, const Cluster& c) {
  return collective_model_time(collective, bytes(payload), p, c).value() * 1e6;
}

TEST(CollectiveModel, ARingAllReduceInANodeIsStepsPlusBytes) {
  // 8 ranks, 800 MB: 5 + 14 * 1 + 2 * 7/8 * 800e6 / 400e9 = 19 + 3500 us.
  EXPECT_NEAR(us(Collective::all_reduce, 800e6, {8, 8, 1, 1}, even_nodes()), 3519.0, 1e-6);
  // All-gather: 5 + 7 + 7/8 * 800e6 / 400e9 = 12 + 1750 us.
  EXPECT_NEAR(us(Collective::all_gather, 800e6, {8, 8, 1, 1}, even_nodes()), 1762.0, 1e-6);
}

TEST(CollectiveModel, TheSwitchReducesOnlyForAllReduceAndLargeGroups) {
  Cluster c = even_nodes();
  c.intra_node.sharp_bandwidth_fraction = 1.25;
  c.intra_node.sharp_min_group = 5;
  // 19 + 3500 / 1.25.
  EXPECT_NEAR(us(Collective::all_reduce, 800e6, {8, 8, 1, 1}, c), 2819.0, 1e-6);
  EXPECT_NEAR(us(Collective::all_gather, 800e6, {8, 8, 1, 1}, c), 1762.0, 1e-6);
  // 4 ranks stay on the ring: 5 + 6 + 1.5 * 800e6 / 400e9 = 3011 us.
  EXPECT_NEAR(us(Collective::all_reduce, 800e6, {4, 4, 1, 1}, c), 3011.0, 1e-6);
}

TEST(CollectiveModel, EndsOfARingCountMoreInSmallGroups) {
  Cluster c = even_nodes();
  c.intra_node.ring_end_cost = 1.0;
  // All-gather over 2: 5 + 1 + 400e6 / 400e9 * (1 + 1/2) = 1506 us; all-reduce passes twice:
  // 5 + 2 + 800e6 / 400e9 * (1 + 1/4) = 2507 us.
  EXPECT_NEAR(us(Collective::all_gather, 800e6, {2, 2, 1, 1}, c), 1506.0, 1e-6);
  EXPECT_NEAR(us(Collective::all_reduce, 800e6, {2, 2, 1, 1}, c), 2507.0, 1e-6);
}

TEST(CollectiveModel, AMediumMessagePaysTheRamp) {
  Cluster c = even_nodes();
  c.intra_node.ramp_latency = microseconds(10);
  c.intra_node.ramp_bytes = bytes(1e6);
  // Broadcast of 9 MB over 8: 5 + 7 + 22.5, and 10 * 3 * 9 / (9 + 3 * 1) = 22.5 us.
  EXPECT_NEAR(us(Collective::broadcast, 9e6, {8, 8, 1, 1}, c), 57.0, 1e-6);
}

TEST(CollectiveModel, ManyNodesAreBoundByTheNarrowerOfLinksAndNics) {
  // 4 nodes of 8: NICs 8 * 50 = 400 GB/s, as wide as the links. A hop inside costs 1 us, with
  // Simple 3.4. 3.2 GB move 2 * 31/32 * 3.2e9 / 400e9 = 15500 us by ring, / 0.92 by tree. Ring with
  // Simple: 20 + 6 * 8 + 56 * 3.4 + 15500.
  EXPECT_NEAR(us(Collective::all_reduce, 3.2e9, {32, 8, 4, 1}, even_nodes()), 15758.4, 1e-3);
}

TEST(CollectiveModel, AMediumAllReduceTakesTheTreeWithLl128) {
  // 16 MB: 77.5 us by ring. Tree, LL128: 20 + 2 * 2 * 8 * 8.5 / 14 + 14 * 1 +
  // 77.5 / (0.85 * 120 / 128) = 20 + 19.4286 + 14 + 97.2549. Simple: 20 + 32 + 14 * 3.4 + 84.2391 =
  // 183.8; ring with Simple 20 + 48 + 190.4 + 77.5.
  EXPECT_NEAR(us(Collective::all_reduce, 16e6, {32, 8, 4, 1}, even_nodes()), 150.6835, 1e-3);
}

TEST(CollectiveModel, ASmallMessageTakesLl) {
  // All-gather of 32 kB: 31 kB move, at 20.4 GB/s of LL in 1.5196 us. LL: 20 + 3 * 8 * 2.7 / 14 +
  // 28 * 1 + 1.5196; Simple: 20 + 24 + 95.2 + 0.0775.
  EXPECT_NEAR(us(Collective::all_gather, 32e3, {32, 8, 4, 1}, even_nodes()), 54.1482, 1e-3);
}

// LL carries 39 GB/s on two nodes and 20.4 on more, whatever the NICs do. 15 * 2^16 bytes move in
// 25.206 us, 31 * 2^15 in 49.7945.
TEST(CollectiveModel, LlHasTheCeilingOfTheHostsCpu) {
  // 20 + 8 * 2.7 / 14 + 14 * 1 + 25.206; 20 + 3 * 8 * 2.7 / 14 + 28 * 1 + 49.7945.
  const Bytes two = bytes(16 * 65536), four = bytes(32 * 32768);
  EXPECT_NEAR(us(Collective::all_gather, two.value(), {16, 8, 2, 1}, even_nodes()), 60.749, 1e-3);
  EXPECT_NEAR(us(Collective::all_gather, four.value(), {32, 8, 4, 1}, even_nodes()), 102.4231,
              1e-3);
}

// 1 MiB over 64 nodes with a rank each, of 50 GB/s: 20 + 6 * 8 / 3.5 + 64 * 2.8 +
// 1032192 / (50e3 * 0.75) = 240.44 us. A ring with LL: 20 + 63 * 8 * 5 / 14 + 1032192 / 20.4e3 =
// 250.6.
TEST(CollectiveModel, OneRankANodeTakesPat) {
  const Placement thin{64, 1, 64, 8};
  EXPECT_NEAR(us(Collective::all_gather, 1048576, thin, even_nodes()), 240.44, 1e-2);
  EXPECT_EQ(collective_algorithm(Collective::all_gather, mebibytes(1), thin, even_nodes()), "PAT");
  EXPECT_EQ(collective_algorithm(Collective::all_gather, gibibytes(4), thin, even_nodes()), "ring");
}

// The cases above, by the algorithm that is fastest in each.
TEST(CollectiveModel, NamesTheAlgorithmThatPricesACall) {
  const Placement node{8, 8, 1, 1}, four{4, 4, 1, 1}, nodes{32, 8, 4, 1};
  Cluster c = even_nodes();
  EXPECT_EQ(collective_algorithm(Collective::all_reduce, bytes(800e6), node, c), "ring");
  EXPECT_EQ(collective_algorithm(Collective::all_to_all, bytes(800e6), node, c), "point-to-point");
  EXPECT_EQ(collective_algorithm(Collective::all_reduce, bytes(3.2e9), nodes, c), "ring");
  EXPECT_EQ(collective_algorithm(Collective::all_reduce, bytes(16e6), nodes, c), "tree");
  EXPECT_EQ(collective_algorithm(Collective::all_gather, bytes(16e6), nodes, c), "ring");
  EXPECT_EQ(collective_algorithm(Collective::all_to_all, bytes(16e6), nodes, c), "point-to-point");
  EXPECT_EQ(collective_algorithm(Collective::send_recv, bytes(16e6), nodes, c), "point-to-point");
  EXPECT_EQ(collective_algorithm(Collective::all_reduce, bytes(0), node, c), "");
  c.intra_node.sharp_bandwidth_fraction = 1.25;
  c.intra_node.sharp_min_group = 5;
  EXPECT_EQ(collective_algorithm(Collective::all_reduce, bytes(800e6), node, c), "NVLS");
  EXPECT_EQ(collective_algorithm(Collective::all_reduce, bytes(800e6), four, c), "ring");
}

TEST(CollectiveModel, AnIslandHasItsOwnLink) {
  Cluster c = even_nodes();
  c.gpus_per_island = 2;
  c.island.bandwidth = gigabytes_per_second(100);
  c.island.bandwidth_fraction = 0.5;
  c.island.latency = microseconds(3);
  Placement pair{2, 2, 1, 4};
  pair.in_island = true;
  // 3 + 1/2 * 100e6 / 50e9.
  EXPECT_NEAR(us(Collective::all_gather, 100e6, pair, c), 1003.0, 1e-6);
}

BytesPerSecond ring_share(const Placement& p, const Cluster& c) {
  return nic_share(Collective::all_gather, p, c);
}

TEST(NicShare, OneMemberANodeHasOneNic) {
  // Eight such groups, one NIC each.
  EXPECT_EQ(ring_share({4, 1, 4, 8}, even_nodes()), gigabytes_per_second(50));
  EXPECT_EQ(ring_share({4, 1, 4, 1}, even_nodes()), gigabytes_per_second(50));
  EXPECT_EQ(ring_share({32, 8, 4, 1}, even_nodes()), gigabytes_per_second(400));
}

TEST(NicShare, FewerNicsThanDevicesAreShared) {
  // 4 NICs of 100 GB/s for 8 devices. Alone, one member reaches a whole NIC; eight groups share.
  Cluster c = even_nodes();
  c.nics_per_node = 4;
  EXPECT_EQ(ring_share({4, 1, 4, 1}, c), gigabytes_per_second(100));
  EXPECT_EQ(ring_share({4, 1, 4, 8}, c), gigabytes_per_second(50));
}

TEST(NicShare, ThirtyTwoNicsAreFourForEachOfEightDevices) {
  Cluster c = even_nodes();
  c.nics_per_node = 32;
  EXPECT_EQ(ring_share({4, 1, 4, 8}, c), gigabytes_per_second(50));
}

TEST(NicShare, TheEmptiestNodeCounts) {
  Placement uneven{5, 4, 2, 1};
  uneven.fewest_per_node = 1;
  EXPECT_EQ(ring_share(uneven, even_nodes()), gigabytes_per_second(50));
}

TEST(NicShare, AnOversubscribedSpineCountsAsOftenAsTheTrafficCrossesIt) {
  // 8 nodes on 2 leaves: a ring leaves a leaf on 2 of 8 hops, an all-to-all with 4 of 7 peers. Four
  // times over-subscribed: 4 * 2 / 8 = 1, no loss; 4 * 4 / 7.
  Cluster c = even_nodes();
  c.spine_oversubscription = 4.0;
  Placement p{64, 8, 8, 1};
  p.num_leaves = 2;
  EXPECT_EQ(ring_share(p, c), gigabytes_per_second(400));
  EXPECT_NEAR(nic_share(Collective::all_to_all, p, c).value(), 400e9 * 7 / 16, 1.0);
  // Every node on its own leaf: all hops cross.
  p.num_leaves = 8;
  EXPECT_EQ(ring_share(p, c), gigabytes_per_second(100));
  // And every leaf in its own pod, spines over-subscribed twice.
  c.core_oversubscription = 2.0;
  p.num_pods = 8;
  EXPECT_EQ(ring_share(p, c), gigabytes_per_second(50));
}

// One member a node, each on its own leaf, spine twice over-subscribed. A rail's leaf has only that
// NIC's traffic to carry up: half of 50 GB/s. A node's leaf has up-links for all eight.
TEST(NicShare, ARailsLeafHasItsOwnUpLinks) {
  Cluster c = even_nodes();
  c.network = NetworkFabric::fat_tree;
  c.spine_oversubscription = 2.0;
  Placement p{8, 1, 8, 1};
  p.num_leaves = 8;
  EXPECT_EQ(ring_share(p, c), gigabytes_per_second(50));
  c.network = NetworkFabric::rail_optimised;
  EXPECT_EQ(ring_share(p, c), gigabytes_per_second(25));
}

// 16 nodes on 4 leaves. A group of 4 neighbours stays on its leaf, and a group with a node on each
// leaf crosses the spine in every hop. In random order a hop leaves its leaf with a probability of
// (16 - 4) / (16 - 1) = 0.8, whichever group it is: 2 * 0.8 = 1.6.
TEST(NicShare, ASpineThatIsTwiceOversubscribedHalvesWhatCrossesItAndRandomOrderCrossesMostly) {
  Cluster c = even_nodes();
  c.num_nodes = 16;
  c.nodes_per_leaf = 4;
  c.spine_oversubscription = 2.0;
  const Placement beside{4, 1, 4, 8};
  Placement apart = beside;
  apart.num_leaves = 4;
  EXPECT_EQ(ring_share(beside, c), gigabytes_per_second(50));
  EXPECT_EQ(ring_share(apart, c), gigabytes_per_second(25));
  c.node_order = NodeOrder::random;
  EXPECT_NEAR(ring_share(beside, c).value(), 50e9 / 1.6, 1.0);
  EXPECT_NEAR(ring_share(apart, c).value(), 50e9 / 1.6, 1.0);
  c.nodes_per_leaf = 16;  // one leaf
  EXPECT_EQ(ring_share(beside, c), gigabytes_per_second(50));
}

// A device has 400 GB/s in 7 links. Two devices use one of them, four use three.
TEST(CollectiveModel, AGroupInAMeshUsesTheLinksBetweenItsOwnDevices) {
  Cluster mesh = even_nodes();
  mesh.node_fabric = NodeFabric::mesh;
  // 5 + 1 + 1/2 * 400e6 / (400e9 / 7) = 6 + 3500 us; switched: 506 us.
  EXPECT_NEAR(us(Collective::all_gather, 400e6, {2, 2, 1, 4}, mesh), 3506.0, 1e-6);
  EXPECT_NEAR(us(Collective::all_gather, 400e6, {2, 2, 1, 4}, even_nodes()), 506.0, 1e-6);
  // 5 + 3 + 3/4 * 400e6 / (400e9 * 3/7) = 8 + 1750 us; a message has one link: 6 + 7000 us.
  EXPECT_NEAR(us(Collective::all_gather, 400e6, {4, 4, 1, 2}, mesh), 1758.0, 1e-6);
  EXPECT_NEAR(us(Collective::send_recv, 400e6, {2, 2, 1, 1}, mesh), 7006.0, 1e-6);
  // Eight use all of them.
  EXPECT_EQ(us(Collective::all_gather, 400e6, {8, 8, 1, 1}, mesh),
            us(Collective::all_gather, 400e6, {8, 8, 1, 1}, even_nodes()));
}

TEST(CollectiveModel, AllToAllSendsWhatLeavesTheNodeThroughItsNics) {
  // 16 ranks on 2 nodes, 16 MB each: half of it leaves, 8 * 8 MB = 64 MB through 400 GB/s: 160 us;
  // 7/16 * 16 MB stay inside: 17.5 us meanwhile. 20 + 8 + 160.
  EXPECT_NEAR(us(Collective::all_to_all, 16e6, {16, 8, 2, 1}, even_nodes()), 188.0, 1e-6);
}

TEST(CollectiveModel, AllToAllLastsAsLongAsWhatStaysInTheNodeWhereItsLinksAreSlow) {
  // The same over links of 20 GB/s: 7/16 * 16 MB = 7 MB take 350 us, longer than the NICs' 160.
  Cluster slow = even_nodes();
  slow.intra_node.bandwidth = gigabytes_per_second(20);
  EXPECT_NEAR(us(Collective::all_to_all, 16e6, {16, 8, 2, 1}, slow), 378.0, 1e-6);
}

TEST(CollectiveModel, AGroupOfOneCostsNothing) {
  for (const Collective collective : kAll) {
    EXPECT_EQ(us(collective, 1e9, {1, 1, 1, 1}, even_nodes()), 0.0);
  }
}

TEST(CollectiveModel, MorePayloadIsNeverFasterAndMoreBandwidthNeverSlower) {
  Cluster base = even_nodes();
  base.intra_node.ramp_latency = base.inter_node.ramp_latency = microseconds(15);
  base.intra_node.ramp_bytes = base.inter_node.ramp_bytes = kibibytes(1500);
  base.intra_node.sharp_bandwidth_fraction = 1.02;
  base.intra_node.sharp_min_group = 5;
  Cluster faster = base;
  faster.intra_node.bandwidth *= 2.0;
  faster.inter_node.bandwidth *= 2.0;
  for (const Placement& p : {Placement{2, 2, 1, 4}, Placement{8, 8, 1, 1}, Placement{4, 1, 4, 8},
                             Placement{32, 8, 4, 1}}) {
    for (const Collective collective : kAll) {
      double last = 0.0;
      for (double payload = 64; payload < 1e11; payload *= 1.7) {
        const double time = us(collective, payload, p, base);
        ASSERT_GE(time, last);
        ASSERT_LE(us(collective, payload, p, faster), time);
        last = time;
      }
    }
  }
}

TEST(CollectiveModel, SharingNicsNeverHelps) {
  Cluster c = even_nodes();
  c.nics_per_node = 4;
  double last = 0.0;
  for (int groups = 1; groups <= 8; ++groups) {
    const double time = us(Collective::reduce_scatter, 1e8, {4, 1, 4, groups}, c);
    EXPECT_GE(time, last);
    last = time;
  }
}

// The same GPUs in larger NVLink domains are never slower, whatever the collective, its group and
// its payload: rings inside a node add up steps that nodes of half its size do not have.
TEST(CollectiveModel, LargerDomainsAreNeverSlower) {
  Cluster cluster = even_nodes();
  cluster.intra_node.ring_end_cost = 1.2;
  cluster.intra_node.ramp_latency = microseconds(15);
  cluster.intra_node.ramp_bytes = mebibytes(3);
  for (const double inside : {200.0, 450.0, 900.0}) {
    cluster.intra_node.bandwidth = gigabytes_per_second(inside);
    for (const Collective collective : kAll) {
      for (int size = 2; size <= 256; size *= 2) {
        for (int stride = 1; stride * size <= 256; stride *= 2) {
          for (double payload = 1e3; payload < 1e10; payload *= 10) {
            double before = std::numeric_limits<double>::infinity();
            for (int node = 8; node <= 256; node *= 2) {
              cluster.gpus_per_node = node;
              cluster.num_nodes = 256 / node;
              Layout layout;
              layout.tensor_parallel_size = stride;
              layout.data_parallel_size = size;
              layout.pipeline_parallel_size = 256 / stride / size;
              const double now =
                  us(collective, payload, place(Group::data, layout, cluster), cluster);
              EXPECT_LE(now, before * (1 + 1e-12))
                  << name_of(collective) << " of " << size << " ranks, every " << stride << "th, "
                  << payload << " B, nodes of " << node << ", " << inside << " GB/s inside";
              before = now;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace meshwright
