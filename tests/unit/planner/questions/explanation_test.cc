// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/questions/rank_map.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Plan plan_of_twenty() {
  SearchOptions options;
  options.top = 20;
  return search({small_model(), small_cluster(8, 8), small_job()}, options);
}

TEST(Explanation, TermsAddUpToTheDifference) {
  const Plan plan = plan_of_twenty();
  const Estimate& slow = plan.ranked.back();
  const Explanation e = explanation(plan, {}, slow, plan.ranked.front());
  Seconds sum;
  for (const TermDifference& term : e.terms) sum += term.difference();
  EXPECT_NEAR((sum - (slow.step_time - plan.ranked.front().step_time)).value(), 0.0, 1e-12);
  for (std::size_t i = 1; i < e.terms.size(); ++i) {
    EXPECT_LE(std::abs(e.terms[i].difference().value()),
              std::abs(e.terms[i - 1].difference().value()));
  }
  EXPECT_LT(e.probability_faster, 0.5);
}

TEST(Explanation, BothWaysRoundSayTheSame) {
  const Plan plan = plan_of_twenty();
  const Explanation slower = explanation(plan, {}, plan.ranked[5], plan.ranked[0]);
  const Explanation faster = explanation(plan, {}, plan.ranked[0], plan.ranked[5]);
  EXPECT_NEAR(slower.probability_faster + faster.probability_faster, 1.0, 1e-12);
  EXPECT_THAT(explanation_text(slower, "rank 1"), HasSubstr("more"));
  EXPECT_THAT(explanation_text(faster, "rank 6"), HasSubstr("less"));
}

TEST(Explanation, OfALayoutAgainstItselfIsOneLine) {
  const Plan plan = plan_of_twenty();
  const Explanation e = explanation(plan, {}, plan.ranked[0], plan.ranked[0]);
  EXPECT_THAT(explanation_text(e, "rank 1"), HasSubstr("is rank 1"));
}

// tp 2, dp 4, pp 2 in the order tp-cp-ep-dp-pp: rank 11 = 1 + 2 (1 + 4 x 1): tp 1, dp 1, pp 1.
TEST(RankMap, CoordinatesFollowTheRankOrder) {
  Layout layout;
  layout.tensor_parallel_size = 2;
  layout.data_parallel_size = 4;
  layout.pipeline_parallel_size = 2;
  EXPECT_THAT(place_of(11, layout).coordinates, ElementsAre(1, 0, 1, 1));
  layout.rank_order = {Axis::pipeline, Axis::tensor, Axis::context, Axis::expert, Axis::data};
  // 11 = 1 + 2 (1 + 2 x 2): pp 1, tp 1, dp 2.
  EXPECT_THAT(place_of(11, layout).coordinates, ElementsAre(1, 0, 2, 1));
}

TEST(RankMap, AnAxisThatFillsANodeStaysInsideIt) {
  const Cluster cluster = small_cluster(2, 80);
  Layout layout;
  layout.tensor_parallel_size = 8;
  layout.data_parallel_size = 2;
  const Outcome outcome = estimate({small_model(), cluster, small_job()}, layout);
  const Estimate& e = std::get<Estimate>(outcome);
  const RankMap map = rank_map(e, cluster);
  ASSERT_EQ(map.nodes.size(), 2U);
  EXPECT_EQ(map.nodes[1].front().rank, 8);
  for (const AxisPlace& axis : map.axes) {
    const Tier expected = axis.group == Group::tensor ? Tier::intra_node : Tier::inter_node;
    if (axis.group == Group::tensor || axis.group == Group::data) {
      EXPECT_EQ(axis.tier, expected);
      EXPECT_EQ(axis.sent_per_step, e.volume.busiest().sent(axis.group));
    }
  }
  const std::string text = rank_map_text(map, layout, cluster);
  EXPECT_THAT(text, HasSubstr("tp 0-7  dp 0"));
  EXPECT_THAT(text, HasSubstr("tp 0-7  dp 1"));
  EXPECT_THAT(text, HasSubstr("busiest"));
}

// NVLink carries the largest group (11 %); the NICs carry two, 8 + 6 = 14 %.
TEST(RankMap, TheBusiestLinkIsThatOfTheLargestSum) {
  RankMap map;
  map.axes = {{Group::tensor, Tier::intra_node, {}, "NVLink", {}, 0.11},
              {Group::data, Tier::inter_node, {}, "NICs", {}, 0.08},
              {Group::pipeline, Tier::inter_node, {}, "NICs", {}, 0.06}};
  EXPECT_EQ(
      busiest_link_text(map),
      "The busiest link is NICs (between nodes): sending keeps it busy for 14.0 % of the step "
      "(data 8.0 %, pipeline 6.0 %). NVLink: 11.0 % (tensor 11.0 %).");
}

// Experts over two nodes: each of the links has its part of the tokens.
TEST(RankMap, AGroupOverTwoNodesLoadsBothLinks) {
  const Cluster cluster = small_cluster(2, 80);
  Model model = small_model();
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 16;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 1024;
  Layout layout;
  layout.data_parallel_size = 16;
  layout.expert_parallel_size = 16;
  const Estimate e = std::get<Estimate>(estimate({model, cluster, small_job()}, layout));
  double sent = 0.0;
  int links = 0;
  for (const AxisPlace& axis : rank_map(e, cluster).axes) {
    if (axis.group != Group::expert) continue;
    sent += axis.sent_per_step.value();
    ++links;
  }
  EXPECT_EQ(links, 2);
  EXPECT_NEAR(sent, e.volume.busiest().sent(Group::expert).value(), 1.0);
}

}  // namespace
}  // namespace meshwright::planner
