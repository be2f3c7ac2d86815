// SPDX-License-Identifier: Apache-2.0
// Pipeline stages: each has a stream of requests, and passes follow each other through the stages.
// A pass takes 1 s and 10 ms a row, half of it on each of two stages.
#include <gtest/gtest.h>

#include "sim/serving/replica_simulation.h"
#include "tests/unit/sim/serving/plain_replica.h"

namespace meshwright {
namespace {

ServingReplica two_stages(double cache_tokens = 1e9) {
  ServingReplica replica = test::plain_replica(seconds(1), seconds(0.01), cache_tokens);
  replica.cost.stages = 2;
  return replica;
}

ServingLoad arrivals(std::vector<Seconds> times, std::vector<RequestLength> lengths) {
  ServingLoad load;
  load.kind = LoadKind::arrivals;
  load.arrivals = std::move(times);
  load.lengths.kind = LengthKind::list;
  load.lengths.list = std::move(lengths);
  return load;
}

// Both prompts take 1.1 s. The second enters the first stage when the first one has left it, at
// 0.55 s, and is through at 1.65 s.
TEST(Streams, TheSecondFollowsTheFirstThroughTheStages) {
  const auto run =
      simulate_serving(two_stages(), 1, arrivals({seconds(0), seconds(0)}, {{10, 1}, {10, 1}}));
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->requests[0].first_token.value(), 1.10, 1e-9);
  EXPECT_NEAR(run->requests[1].first_token.value(), 1.65, 1e-9);
  EXPECT_EQ(run->steps, 2);
}

// The first prompt is through at 1.1 s. The second, of 100 tokens, takes 2 s from 1 s on: it leaves
// the first stage at 2 s and the second at 3 s. The first request's next pass of 1.01 s enters at
// 2 s, waits for the second stage until 3 s, and is over half of 1.01 s later.
TEST(Streams, ALongPromptHoldsUpTheOtherStreamOnEachStage) {
  const auto run =
      simulate_serving(two_stages(), 1, arrivals({seconds(0), seconds(1)}, {{10, 2}, {100, 1}}));
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->requests[0].first_token.value(), 1.10, 1e-9);
  EXPECT_NEAR(run->requests[1].first_token.value(), 3.00, 1e-9);
  EXPECT_NEAR(run->requests[0].end.value(), 3.505, 1e-9);
}

// 60 + 60 tokens do not fit into 100: the second waits for the first one's end, though its stream
// is idle. The first takes 1.6 s and two steps of 1.01 s.
TEST(Streams, ShareTheCache) {
  const auto run =
      simulate_serving(two_stages(100), 1, arrivals({seconds(0), seconds(0)}, {{60, 3}, {60, 1}}));
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->requests[0].end.value(), 3.62, 1e-9);
  EXPECT_NEAR(run->requests[1].first_token.value(), 3.62 + 1.6, 1e-9);
  // What could never be held is still said.
  EXPECT_FALSE(
      simulate_serving(two_stages(100), 1, arrivals({seconds(0)}, {{100, 2}})).has_value());
}

// 45 + 45 tokens and their answers of 20 do not fit into 100: one loses its place, and both end.
TEST(Streams, AFullCacheThrowsOneOut) {
  const auto run = simulate_serving(two_stages(100), 1,
                                    arrivals({seconds(0), seconds(0)}, {{45, 20}, {45, 20}}));
  ASSERT_TRUE(run.has_value());
  EXPECT_GE(run->preemptions, 1);
  for (const RequestTiming& one : run->requests) EXPECT_GT(one.end, one.first_token);
}

// An engine that runs the passes one after the other: two streams, each with a request of its own.
TEST(Streams, AnEngineComposesThemOneByOne) {
  const ServingReplica replica = two_stages();
  ServingRun run;
  ReplicaSimulation engine(replica, run);
  ASSERT_EQ(engine.streams(), 2U);
  engine.enqueue({0, seconds(0), 10, 10, 1, false, false});
  engine.enqueue({1, seconds(0), 10, 10, 1, false, false});
  engine.compose_step(seconds(0), 0);
  EXPECT_FALSE(engine.next_start(0).has_value());  // its step is not over
  ASSERT_EQ(engine.prompts_of(0).size(), 1U);
  EXPECT_EQ(engine.prompts_of(0)[0].index, 0);
  engine.compose_step(seconds(0.5), 1);
  EXPECT_EQ(engine.prompts_of(1)[0].index, 1);
  engine.finish_step(seconds(1), 0);
  ASSERT_EQ(engine.first_tokens().size(), 1U);
  EXPECT_EQ(engine.first_tokens()[0].index, 0);
  EXPECT_EQ(engine.next_start(0), seconds(1));
  engine.finish_step(seconds(1.5), 1);
  EXPECT_EQ(engine.first_tokens()[0].when, seconds(1.5));
}

}  // namespace
}  // namespace meshwright
