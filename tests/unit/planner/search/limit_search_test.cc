// SPDX-License-Identifier: Apache-2.0
#include "planner/search/limit_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// 2 % of 720 are 14 devices: 704 and 720 are 16 apart, so 712 is tried; 712 and 720 are one node.
TEST(LimitSearch, CountsAreHalvedToANodeOrTwoPercent) {
  const Cluster cluster = small_cluster(64, 80);
  std::vector<int> tried;
  const LimitPair found = narrowed(
      {.failed = 512, .works = 1024}, [&](LimitPair pair) { return count_between(pair, cluster); },
      [&](int gpus) {
        tried.push_back(gpus);
        return gpus >= 720;
      });
  EXPECT_THAT(tried, testing::ElementsAre(768, 640, 704, 736, 720, 712));
  EXPECT_EQ(found.works, 720);
  EXPECT_EQ(found.failed, 712);
}

// A budget holds below the limit: the value that works is the smaller one. 2 % of 4,096 are 81.
TEST(LimitSearch, EitherValueMayBeTheLarger) {
  const LimitPair found = narrowed(
      {.failed = 8192, .works = 4096}, [](LimitPair pair) { return value_between(pair, 8); },
      [](int value) { return value <= 5000; });
  EXPECT_LE(found.works, 5000);
  EXPECT_GT(found.failed, 5000);
  EXPECT_LE(found.failed - found.works, found.failed / 50);
}

// 4 and 8 devices are parts of one node of 8, and nothing is between 8 and 16.
TEST(LimitSearch, NothingIsBetweenNeighbours) {
  const Cluster cluster = small_cluster(2, 80);
  EXPECT_FALSE(count_between({.failed = 4, .works = 8}, cluster));
  EXPECT_FALSE(count_between({.failed = 8, .works = 16}, cluster));
  EXPECT_EQ(count_between({.failed = 8, .works = 32}, cluster), 16);
  EXPECT_FALSE(value_between({.failed = 101, .works = 100}, 1));
}

}  // namespace
}  // namespace meshwright::planner
