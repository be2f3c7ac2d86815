// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/launch/launch.h"
#include "tests/unit/calibrate/alone.h"

namespace meshwright::calibrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// srun --ntasks-per-node=8 without --cpus-per-task: each rank has a core of its own.
TEST(RankCores, CoresOfBoundRanksAddUp) {
  std::vector<RankCores> ranks;
  for (int r = 0; r < 8; ++r) ranks.push_back({"a", 1, static_cast<double>(r)});
  const std::vector<HostCores> hosts = cores_of_hosts(ranks);
  ASSERT_EQ(hosts.size(), 1U);
  EXPECT_EQ(hosts[0].cores, 8);
  EXPECT_EQ(hosts[0].ranks, 8);
}

// mpirun --bind-to none: all ranks of a host may use the same 64 cores.
TEST(RankCores, CoresThatRanksShareCountOnceOnEachHost) {
  const std::vector<HostCores> hosts = cores_of_hosts(
      {{"a", 64, 7.0}, {"b", 64, 7.0}, {"a", 64, 7.0}, {"b", 64, 7.0}, {"b", 64, 7.0}});
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[0].host, "a");
  EXPECT_EQ(hosts[0].cores, 64);
  EXPECT_EQ(hosts[0].ranks, 2);
  EXPECT_EQ(hosts[1].cores, 64);
  EXPECT_EQ(hosts[1].ranks, 3);
}

TEST(RankCores, FewerThanFourCoresPerGpuRankAreAWarningOnTheWorstHost) {
  EXPECT_EQ(few_cores_words({{"a", 32, 8}, {"b", 64, 8}}), "");
  EXPECT_THAT(few_cores_words({{"a", 32, 8}, {"b", 31, 8}, {"c", 16, 2}}),
              AllOf(HasSubstr("b has 31 cores for 8 GPU ranks"), HasSubstr("--cpus-per-task"),
                    HasSubstr("--bind-to none")));
}

// It sends nothing; two hosts with a rank each do.
TEST(RankCores, OneRankAloneNeedsNoProxyThreads) {
  EXPECT_EQ(few_cores_words({{"a", 1, 1}}), "");
  EXPECT_EQ(few_cores_words({}), "");
  EXPECT_THAT(few_cores_words({{"a", 1, 1}, {"b", 1, 1}}),
              HasSubstr("a has 1 core for 1 GPU rank."));
}

TEST(RankCores, ARankKnowsItsOwnCores) {
  Alone world;
  const std::vector<RankCores> ranks = cores_of_ranks(world);
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_EQ(ranks[0].cores, usable_cores());
  EXPECT_FALSE(ranks[0].host.empty());
}

}  // namespace
}  // namespace meshwright::calibrate
