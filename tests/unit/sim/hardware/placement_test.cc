// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace meshwright {
namespace {

Cluster nodes_of(int gpus_per_node, int num_nodes) {
  Cluster c;
  c.gpus_per_node = gpus_per_node;
  c.num_nodes = num_nodes;
  return c;
}

void expect_place(const Placement& p, int size, int ranks, int nodes, int groups) {
  EXPECT_EQ(p.group_size, size);
  EXPECT_EQ(p.ranks_per_node, ranks);
  EXPECT_EQ(p.num_nodes, nodes);
  EXPECT_EQ(p.groups_per_node, groups);
}

TEST(Placement, MegatronOrderPutsTensorInsideAndPipelineOutside) {
  // tp8 dp8 pp4 on 32 nodes of 8. Strides: tensor 1, data 8, pipeline 64. A tensor group fills a
  // node; each rank of a node is in another data group; each sends to its own next stage.
  const Layout l{.tensor_parallel_size = 8, .pipeline_parallel_size = 4, .data_parallel_size = 8};
  const Cluster c = nodes_of(8, 32);
  expect_place(place(Group::tensor, l, c), 8, 8, 1, 1);
  expect_place(place(Group::data, l, c), 8, 1, 8, 8);
  expect_place(place(Group::pipeline, l, c), 2, 1, 2, 8);
  expect_place(place(Group::embedding, l, c), 2, 1, 2, 8);
  // Tensor x pipeline: 8 ranks on each of 4 nodes (stages are 8 nodes apart).
  expect_place(place(Group::model, l, c), 32, 8, 4, 1);
}

TEST(Placement, AGroupOfOneStaysOnItsRank) {
  const Cluster c = nodes_of(8, 1);
  for (const Group g : {Group::tensor, Group::context, Group::data, Group::pipeline, Group::expert,
                        Group::expert_tensor, Group::expert_data, Group::embedding, Group::model}) {
    EXPECT_EQ(place(g, Layout{}, c).tier(), Tier::self);
  }
}

TEST(Placement, SmallTensorGroupsShareANode) {
  // tp2 dp8 on 2 nodes of 8: four tensor groups a node; data stride 2, so 4 of its 8 ranks share a
  // node, 2 nodes, and the 2 data groups share each node's NICs.
  const Layout l{.tensor_parallel_size = 2, .data_parallel_size = 8};
  const Cluster c = nodes_of(8, 2);
  expect_place(place(Group::tensor, l, c), 2, 2, 1, 4);
  expect_place(place(Group::data, l, c), 8, 4, 2, 2);
}

TEST(Placement, TheGradientGroupIsDataTimesContext) {
  // tp2 cp2 dp4: context stride 2, data stride 4; together 8 ranks at stride 2: 4 a node of 8.
  const Layout l{.tensor_parallel_size = 2, .data_parallel_size = 4, .context_parallel_size = 2};
  const Cluster c = nodes_of(8, 2);
  expect_place(place(Group::context, l, c), 2, 2, 1, 4);
  expect_place(place(Group::data, l, c), 8, 4, 2, 2);
}

TEST(Placement, ExpertGroupsLieOverTensorContextAndData) {
  // tp2 dp8, ep4 with etp1: expert mesh etp1 x ep4 x edp4 over the same 16 ranks. Expert stride 1,
  // expert data stride 4: 2 of its 4 ranks a node of 8.
  const Layout l{.tensor_parallel_size = 2,
                 .data_parallel_size = 8,
                 .expert_parallel_size = 4,
                 .expert_tensor_parallel_size = 1};
  const Cluster c = nodes_of(8, 2);
  expect_place(place(Group::expert, l, c), 4, 4, 1, 2);
  expect_place(place(Group::expert_data, l, c), 4, 2, 2, 4);
  EXPECT_EQ(place(Group::expert_tensor, l, c).tier(), Tier::self);
}

TEST(Placement, RankOrderMovesAnAxisInside) {
  // tp2 pp4 on one node of 8 and dp2: pipeline before data gives it stride 2 instead of 4, and the
  // whole pipeline (8 ranks) stays in the node.
  Layout l{.tensor_parallel_size = 2, .pipeline_parallel_size = 4, .data_parallel_size = 2};
  const Cluster c = nodes_of(8, 2);
  EXPECT_EQ(place(Group::pipeline, l, c).tier(), Tier::inter_node);
  l.rank_order = {Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data};
  EXPECT_EQ(place(Group::pipeline, l, c).tier(), Tier::intra_node);
  // Data is now 8 ranks apart: one member a node, all 8 ranks in groups of their own.
  expect_place(place(Group::data, l, c), 2, 1, 2, 8);
}

TEST(Placement, NodesOfSixSplitATensorGroupOfFour) {
  // Ranks 4..7 lie on both sides of the border of a node of 6 (5 | 6): 2 nodes, 2 + 2 ranks.
  // Only {4..7} leaves its nodes: the groups {0..3} and {8..11} do not touch the NICs.
  const Layout l{.tensor_parallel_size = 4, .data_parallel_size = 3};
  const Placement p = place(Group::tensor, l, nodes_of(6, 2));
  expect_place(p, 4, 2, 2, 1);
  EXPECT_EQ(p.fewest_per_node, 2);
}

TEST(Placement, NodesOfSixSplitATensorGroupOfFiveUnevenly) {
  // Ranks 5..9: 5 | 6 7 8 9. One member on node 0, four on node 1.
  const Layout l{.tensor_parallel_size = 5, .data_parallel_size = 2};
  const Placement p = place(Group::tensor, l, nodes_of(6, 2));
  expect_place(p, 5, 4, 2, 1);
  EXPECT_EQ(p.fewest_per_node, 1);
}

TEST(Placement, APipelineThatDoesNotDivideTheNodeCrossesIt) {
  // tp1 pp4 dp3 with the pipeline inside: ranks 4..7 lie on both sides of the border at 6.
  Layout l{.pipeline_parallel_size = 4, .data_parallel_size = 3};
  l.rank_order = {Axis::tensor, Axis::pipeline, Axis::context, Axis::expert, Axis::data};
  EXPECT_EQ(place(Group::pipeline, l, nodes_of(6, 2)).tier(), Tier::inter_node);
  // On one node of 16 there is no border.
  EXPECT_EQ(place(Group::pipeline, l, nodes_of(16, 1)).tier(), Tier::intra_node);
}

TEST(Placement, ATensorGroupLargerThanANodeFillsWholeNodes) {
  const Layout l{.tensor_parallel_size = 16, .data_parallel_size = 2};
  expect_place(place(Group::tensor, l, nodes_of(8, 4)), 16, 8, 2, 1);
}

TEST(Placement, CountingAgreesWithTheClosedForm) {
  // Every rank belongs to one data group, so groups a node = ranks a node / members a node, for
  // all layouts whose strides and nodes divide each other.
  for (const int tp : {1, 2, 4, 8, 16}) {
    for (const int dp : {1, 2, 4, 8, 16}) {
      if (tp * dp < 8 || tp == 1 || dp == 1) continue;
      const Layout l{.tensor_parallel_size = tp, .data_parallel_size = dp};
      const Placement p = place(Group::data, l, nodes_of(8, tp * dp / 8));
      EXPECT_EQ(p.groups_per_node * p.ranks_per_node, 8) << tp << " " << dp;
      EXPECT_EQ(p.ranks_per_node * p.num_nodes, dp) << tp << " " << dp;
    }
  }
}

TEST(Placement, LeavesAndPodsThatAGroupTouchesAreCounted) {
  // 64 nodes of 8, 8 nodes a leaf, 32 a pod. tp8 dp8 pp8: data ranks on neighbouring nodes, one
  // leaf; pipeline neighbours 8 nodes apart, each on its own leaf, in one pod.
  Cluster c = nodes_of(8, 64);
  c.nodes_per_leaf = 8;
  c.nodes_per_pod = 32;
  Layout l{.tensor_parallel_size = 8, .pipeline_parallel_size = 8, .data_parallel_size = 8};
  EXPECT_EQ(place(Group::data, l, c).num_leaves, 1);
  EXPECT_EQ(place(Group::pipeline, l, c).num_leaves, 2);
  EXPECT_EQ(place(Group::pipeline, l, c).num_pods, 1);
  // Pipeline before data: data ranks are 8 nodes apart; 8 leaves, 2 pods.
  l.rank_order = {Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data};
  EXPECT_EQ(place(Group::data, l, c).num_leaves, 8);
  EXPECT_EQ(place(Group::data, l, c).num_pods, 2);
}

TEST(Placement, IslandsOfTwoHoldTensorPairsAndNoDataPairs) {
  // One node of 8 in 4 islands. tp2: ranks 0 1 | 2 3 ...; its data group of 4 has stride 2.
  Cluster c = nodes_of(8, 1);
  c.gpus_per_island = 2;
  const Layout l{.tensor_parallel_size = 2, .data_parallel_size = 4};
  EXPECT_TRUE(place(Group::tensor, l, c).in_island);
  EXPECT_FALSE(place(Group::data, l, c).in_island);
  EXPECT_FALSE(place(Group::tensor, {.tensor_parallel_size = 4}, c).in_island);
}

// Every order of the axes, dense and expert, against counting the ranks that group_ranks lists.
TEST(Placement, EveryRankOrderAgreesWithCounting) {
  Layout l{.tensor_parallel_size = 2,
           .pipeline_parallel_size = 2,
           .data_parallel_size = 4,
           .context_parallel_size = 2,
           .expert_parallel_size = 4,
           .expert_tensor_parallel_size = 1};
  const Cluster c = nodes_of(8, 4);
  std::sort(l.rank_order.begin(), l.rank_order.end());
  do {
    for (const Group g : {Group::tensor, Group::context, Group::data, Group::expert,
                          Group::expert_data, Group::model}) {
      const auto groups = group_ranks(g, l);
      const Placement p = place(g, l, c);
      ASSERT_EQ(groups.size() * static_cast<std::size_t>(p.group_size), 32U);
      std::set<int> seen;
      std::map<int, int> leaving;  // groups by node
      int most_nodes = 0;
      for (const auto& ranks : groups) {
        std::set<int> nodes;
        for (const int rank : ranks) {
          nodes.insert(rank / 8);
          seen.insert(rank);
        }
        most_nodes = std::max(most_nodes, static_cast<int>(nodes.size()));
        for (const int node : nodes) leaving[node] += nodes.size() > 1 ? 1 : 0;
      }
      ASSERT_EQ(seen.size(), 32U);  // each rank in one group
      ASSERT_EQ(p.num_nodes, most_nodes);
      if (most_nodes == 1) continue;
      ASSERT_EQ(p.groups_per_node, leaving[0]);
      ASSERT_EQ(p.ranks_per_node * p.num_nodes, p.group_size);
    }
  } while (std::next_permutation(l.rank_order.begin(), l.rank_order.end()));
}

TEST(Placement, MegatronsTwoOrdersByHand) {
  // tp2 dp2 pp2, ep2 with etp1, 8 ranks. Default order: expert mesh etp1 ep2 edp2 pp2.
  Layout l{.tensor_parallel_size = 2,
           .pipeline_parallel_size = 2,
           .data_parallel_size = 2,
           .expert_parallel_size = 2,
           .expert_tensor_parallel_size = 1};
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(group_ranks(Group::expert, l), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(group_ranks(Group::expert_data, l), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(group_ranks(Group::pipeline, l), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(group_ranks(Group::model, l), (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  // --use-tp-pp-dp-mapping: tp-cp-ep-pp-dp.
  l.rank_order = {Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data};
  EXPECT_EQ(group_ranks(Group::pipeline, l), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(group_ranks(Group::data, l), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(group_ranks(Group::expert, l), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(group_ranks(Group::expert_data, l), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(group_ranks(Group::embedding, l), group_ranks(Group::pipeline, l));
}

// tp2 dp3 pp2, Megatron's order: tensor fastest, then data, then pipeline. Rank 9 = 1 + 2*1 + 6*1.
TEST(Coordinates, RanksAreNumberedInnermostAxisFirst) {
  const Layout l{.tensor_parallel_size = 2, .pipeline_parallel_size = 2, .data_parallel_size = 3};
  EXPECT_EQ(coordinates(l, 9), (Coordinates{.tensor = 1, .data = 1, .pipeline = 1}));
}

// The same sizes with data innermost and tensor outermost: rank 9 = 0 + 3*1 + 6*1.
TEST(Coordinates, TheLayoutsRankOrderIsFollowed) {
  Layout l{.tensor_parallel_size = 2, .pipeline_parallel_size = 2, .data_parallel_size = 3};
  l.rank_order = {Axis::data, Axis::context, Axis::expert, Axis::pipeline, Axis::tensor};
  EXPECT_EQ(coordinates(l, 9), (Coordinates{.tensor = 1, .data = 0, .pipeline = 1}));
}

}  // namespace
}  // namespace meshwright
