// SPDX-License-Identifier: Apache-2.0
#include "planner/search/pareto.h"

#include <gtest/gtest.h>

#include <utility>

namespace meshwright::planner {
namespace {

Candidate candidate(double time, double memory, int micro_batch = 1) {
  Candidate c;
  c.layout.micro_batch_size = micro_batch;
  c.step_time = seconds(time);
  c.peak_memory = bytes(memory);
  return c;
}

std::vector<double> times(const std::vector<Candidate>& candidates) {
  std::vector<double> values;
  for (const Candidate& c : candidates) values.push_back(c.step_time.value());
  return values;
}

TEST(Pareto, KeepsWhatNothingElseIsFasterAndSmallerThan) {
  ParetoFront front;
  for (const auto& c : {candidate(3, 3), candidate(1, 9), candidate(4, 4), candidate(2, 5),
                        candidate(2, 6), candidate(5, 1)}) {
    front.add(c);
  }
  EXPECT_EQ(times(front.items()), (std::vector<double>{1, 2, 3, 5}));
}

TEST(Pareto, OfEqualsTheFirstStays) {
  ParetoFront front;
  front.add(candidate(1, 1, 7));
  front.add(candidate(1, 1, 8));
  ASSERT_EQ(front.items().size(), 1U);
  EXPECT_EQ(front.items().front().layout.micro_batch_size, 7);
}

TEST(TopList, KeepsTheFastestAndOfEqualsTheFirst) {
  TopList top(2);
  top.add(candidate(3, 1));
  top.add(candidate(2, 1, 7));
  top.add(candidate(2, 1, 8));
  top.add(candidate(2, 1, 9));
  ASSERT_EQ(top.items().size(), 2U);
  EXPECT_EQ(top.items()[0].layout.micro_batch_size, 7);
  EXPECT_EQ(top.items()[1].layout.micro_batch_size, 8);
}

// 1.0005 s is 0.05 % slower at 0.5 % more memory: a twin. 1.0005 s at half the memory is not.
TEST(NearTwins, AreDroppedButTheFastestStays) {
  std::vector<Candidate> family{candidate(1.0005, 1005), candidate(1.0, 1000),
                                candidate(1.0005, 500), candidate(1.002, 1000)};
  EXPECT_EQ(times(without_near_duplicates(family)), (std::vector<double>{1.0, 1.0005, 1.002}));
}

// Another rank order is another answer, however near.
TEST(NearTwins, StayApartWhereTheirRanksAreOrderedOtherwise) {
  Candidate other = candidate(1.0005, 999);
  std::swap(other.layout.rank_order[2], other.layout.rank_order[3]);
  EXPECT_EQ(front_without_near_duplicates({candidate(1.0, 1000), other}).size(), 2U);
  other.layout.rank_order = Layout{}.rank_order;
  EXPECT_EQ(front_without_near_duplicates({candidate(1.0, 1000), other}).size(), 1U);
}

}  // namespace
}  // namespace meshwright::planner
