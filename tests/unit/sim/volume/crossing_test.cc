// SPDX-License-Identifier: Apache-2.0
#include "sim/volume/crossing.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// A group of 16 ranks on two nodes of 8.
Cluster two_nodes() {
  Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.num_nodes = 2;
  return cluster;
}

Layout sixteen() {
  Layout layout;
  layout.data_parallel_size = 16;
  layout.expert_parallel_size = 16;
  return layout;
}

// Two calls of 16 MB.
Transfer crossing_transfer(Group group, Collective collective, int group_size = 16) {
  Transfer transfer;
  transfer.group = group;
  transfer.collective = collective;
  transfer.group_size = group_size;
  transfer.times_per_step = 2;
  transfer.payload = bytes(16e6);
  return transfer;
}

// A rank sends 2 x 15/16 x 16 MB = 30 MB; one of 8 ranks hands them to the other node.
TEST(Crossing, OneRankOfANodesRingSendsToTheNext) {
  const LinkBytes sent = sent_over_links(crossing_transfer(Group::data, Collective::all_gather),
                                         sixteen(), two_nodes());
  EXPECT_DOUBLE_EQ(sent.inter_node.value(), 30e6 / 8);
  EXPECT_DOUBLE_EQ(sent.intra_node.value(), 30e6 * 7 / 8);
}

// 8 of 15 peers are on the other node: 16 MB of 30.
TEST(Crossing, AnAllToAllSendsToEveryPeer) {
  const LinkBytes sent = sent_over_links(crossing_transfer(Group::expert, Collective::all_to_all),
                                         sixteen(), two_nodes());
  EXPECT_DOUBLE_EQ(sent.inter_node.value(), 16e6);
  EXPECT_DOUBLE_EQ(sent.intra_node.value(), 14e6);
}

// 4 of 64 experts: 1.8868 nodes and 3.7205 ranks a token (dispatch_test.cc), so that 1.8868 /
// 3.7205 / 2 = 0.25357 of 32 MB cross.
TEST(Crossing, ADispatcherSendsOneCopyToANode) {
  Transfer dispatch = crossing_transfer(Group::expert, Collective::all_to_all);
  dispatch.routing = {64, 4};
  const LinkBytes sent = sent_over_links(dispatch, sixteen(), two_nodes());
  EXPECT_NEAR(sent.inter_node.value(), 0.25357 * 32e6, 1e3);
  EXPECT_DOUBLE_EQ((sent.intra_node + sent.inter_node).value(), 30e6);
}

TEST(Crossing, NothingLeavesAGroupOfOneNode) {
  const LinkBytes sent = sent_over_links(crossing_transfer(Group::data, Collective::all_gather, 8),
                                         sixteen(), two_nodes());
  EXPECT_EQ(sent.inter_node, bytes(0));
  EXPECT_DOUBLE_EQ(sent.intra_node.value(), 2.0 * 14e6);
}

// Stages on two nodes: their messages cross whole.
TEST(Crossing, APairOnTwoNodesSendsEverythingAcross) {
  Layout layout;
  layout.data_parallel_size = 8;
  layout.pipeline_parallel_size = 2;
  const LinkBytes sent = sent_over_links(
      crossing_transfer(Group::pipeline, Collective::send_recv, 2), layout, two_nodes());
  EXPECT_DOUBLE_EQ(sent.inter_node.value(), 32e6);
  EXPECT_EQ(sent.intra_node, bytes(0));
}

}  // namespace
}  // namespace meshwright
