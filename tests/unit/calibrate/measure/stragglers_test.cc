// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "calibrate/measure/rank_times.h"

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Logs -2d, -d, 0, d, 2d and one of 10d: median d/2, distances 2.5d 1.5d .5d .5d 1.5d 9.5d, MAD
// 1.5d; the last scores 9.5 / (1.4826 * 1.5).
TEST(SlownessScores, AreDistancesToTheMedianInMedianDistances) {
  const double d = 0.05;
  const std::array<double, 6> times{std::exp(-2 * d), std::exp(-d),    1.0,
                                    std::exp(d),      std::exp(2 * d), std::exp(10 * d)};
  EXPECT_NEAR(slowness_scores(times).back(), 9.5 / (1.4826 * 1.5), 1e-9);
}

// All alike but one: the deviation is taken as 1 %.
TEST(SlownessScores, EqualTimesLeaveOnePercent) {
  const std::array<double, 4> times{1.0, 1.0, 1.0, 1.1};
  EXPECT_NEAR(slowness_scores(times).back(), std::log(1.1) / 0.01, 1e-9);
}

TEST(SlownessScores, TwoTimesCannotTellWhoIsSlow) {
  EXPECT_EQ(slowness_scores(std::array<double, 2>{1.0, 9.0}), (std::vector<double>{0.0, 0.0}));
}

std::vector<RankSpeed> four_ranks() {
  std::vector<RankSpeed> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back({.rank = rank,
                     .local_rank = rank % 2,
                     .host = rank < 2 ? "a" : "b",
                     .gemm = 1.0,
                     .memory = 1.0});
  }
  return ranks;
}

// All six links of four ranks in one node; those of `slow_end` take twice as long.
std::vector<PairTime> links(int slow_end) {
  std::vector<PairTime> pairs;
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      const bool slow = a == slow_end || b == slow_end;
      pairs.push_back({a, b, Tier::intra_node, seconds(slow ? 2e-3 : 1e-3)});
    }
  }
  return pairs;
}

TEST(Stragglers, EqualRanksAndLinksHaveNone) {
  auto ranks = four_ranks();
  EXPECT_THAT(find_stragglers(ranks, links(-1)), IsEmpty());
  EXPECT_DOUBLE_EQ(ranks[0].network, 1.0);
}

TEST(Stragglers, ASlowRankIsNamedWithHostAndResource) {
  auto ranks = four_ranks();
  ranks[3].gemm = 1.3;
  const auto found = find_stragglers(ranks, {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "gemm");
  EXPECT_EQ(found[0].rank, 3);
  EXPECT_THAT(found[0].sentence,
              HasSubstr("rank 3 (number 1 on b) is slow: gemm takes 1.30 times"));
}

TEST(Stragglers, ARankWhoseEveryLinkIsSlowIsNamedInsteadOfItsLinks) {
  auto ranks = four_ranks();
  // Three of six links are slow: their median is 1.5 ms, so a good link is 0.67 of it; ranks 0, 1
  // and 3 have two good links and a slow one, rank 2 has slow ones only.
  const auto found = find_stragglers(ranks, links(2));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "network");
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_NEAR(found[0].relative_time, 2.0, 1e-12);
}

TEST(Stragglers, ASlowLinkBetweenGoodEndsIsNamed) {
  auto ranks = four_ranks();
  auto pairs = links(-1);
  pairs[5].time = seconds(1.5e-3);  // 2 and 3
  const auto found = find_stragglers(ranks, pairs);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, "link");
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_EQ(found[0].other, 3);
  EXPECT_THAT(found[0].sentence, HasSubstr("intra_node link between rank 2"));
}

// 4 % slower than equal ranks scores 3.9, and is still not worth a name.
TEST(Stragglers, AFewPercentAreNotNamed) {
  auto ranks = four_ranks();
  ranks[0].gemm = 1.04;
  EXPECT_THAT(find_stragglers(ranks, {}), IsEmpty());
}

// Two products, rank 1 needs 1.2 and 1.4 of the median rank's time: 1.3 in the middle.
TEST(RankTimes, ARanksSpeedIsTheMedianOverItsPoints) {
  RankTimes times({"a", "a", "b"}, {0, 1, 0});
  MeasuredPoint point;
  point.subject = timed::Gemm{};
  times.add(point, {1.0, 1.2, 1.0});
  times.add(point, {2.0, 2.8, 2.0});
  point.subject = timed::CollectiveCall{};
  times.add(point, {9.0, 1.0, 1.0});  // says nothing of one rank
  const auto speeds = times.speeds();
  EXPECT_NEAR(speeds[1].gemm, 1.3, 1e-12);
  EXPECT_EQ(speeds[1].memory, 0.0);
  EXPECT_EQ(speeds[2].host, "b");
  EXPECT_EQ(speeds[1].local_rank, 1);
}

}  // namespace
}  // namespace meshwright::calibrate
