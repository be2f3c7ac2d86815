// SPDX-License-Identifier: Apache-2.0
#include "sim/volume/transfer.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// 4 nodes of 8; tp 1, so the data group is ranks 0..31.
Cluster four_nodes() {
  Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.num_nodes = 4;
  cluster.intra_node.bandwidth = gigabytes_per_second(300);
  cluster.inter_node.bandwidth = gigabytes_per_second(25);
  return cluster;
}

Layout sharded(int shard) {
  Layout layout;
  layout.data_parallel_size = 32;
  layout.zero_stage = 1;
  layout.zero_shard_size = shard;
  return layout;
}

Transfer transfer_of(Collective collective, int size) {
  Transfer transfer;
  transfer.group = Group::data;
  transfer.collective = collective;
  transfer.group_size = size;
  transfer.times_per_step = 2;
  transfer.payload = mebibytes(64);
  return transfer;
}

TEST(Transfer, AShardOfOneNodeStaysInIt) {
  const Placement found =
      place(transfer_of(Collective::reduce_scatter, 8), sharded(8), four_nodes());
  EXPECT_EQ(found.num_nodes, 1);
  EXPECT_EQ(found.ranks_per_node, 8);
  EXPECT_EQ(found.tier(), Tier::intra_node);
}

TEST(Transfer, CopiesOfAShardHaveOneRankOnEachNode) {
  // Shards of 8: rank r's copies are r, r+8, r+16, r+24, one a node, and 8 such groups share the
  // NICs.
  const Placement found = place(transfer_of(Collective::all_reduce, 4), sharded(8), four_nodes());
  EXPECT_EQ(found.num_nodes, 4);
  EXPECT_EQ(found.ranks_per_node, 1);
  EXPECT_EQ(found.groups_per_node, 8);
}

// A gather over 4 nodes of 8 with a NIC each of 25 GB/s runs as wide as 8 of them; with one rail it
// takes 8 times as long, but for latency.
TEST(Transfer, OneRailCarriesAnEighthOfEight) {
  Cluster cluster = four_nodes();
  cluster.device.host_link = {};
  Transfer gather = transfer_of(Collective::all_gather, 32);
  gather.payload = gibibytes(64);
  const Seconds wide = transfer_cost(gather, sharded(0), cluster).time;
  cluster.framework.data_parallel.rails_per_collective = 1;
  const Seconds narrow = transfer_cost(gather, sharded(0), cluster).time;
  EXPECT_NEAR(narrow / wide, 8.0, 0.01);
  gather.group = Group::tensor;
  EXPECT_EQ(transfer_cost(gather, sharded(0), cluster).time,
            transfer_cost(gather, sharded(0), four_nodes()).time);
}

TEST(Transfer, TheWholeGroupIsPlacedAsTheAxisIs) {
  const Placement found = place(transfer_of(Collective::all_reduce, 32), sharded(0), four_nodes());
  EXPECT_EQ(found.num_nodes, 4);
  EXPECT_EQ(found.ranks_per_node, 8);
}

TEST(Transfer, AllCallsArePaidAndTheFrameworkSlowsThem) {
  Cluster cluster = four_nodes();
  const Transfer transfer = transfer_of(Collective::all_reduce, 32);
  const Cost one = collective_cost(transfer.collective, transfer.payload,
                                   place(transfer, sharded(0), cluster), cluster);
  cluster.framework.collective_time_factor = 1.5;
  EXPECT_DOUBLE_EQ(transfer_cost(transfer, sharded(0), cluster).time.value(),
                   one.time.value() * 2 * 1.5);
}

}  // namespace
}  // namespace meshwright
