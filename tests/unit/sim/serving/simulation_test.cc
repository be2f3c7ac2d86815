// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/simulation.h"

#include <gtest/gtest.h>

#include <limits>

#include "sim/serving/replica_simulation.h"
#include "tests/unit/sim/serving/plain_replica.h"

namespace meshwright {
namespace {

using test::plain_replica;

ServingLoad closed(double users, int input, int output, int requests) {
  ServingLoad load;
  load.concurrency = users;
  load.lengths.input = input;
  load.lengths.output = output;
  load.num_requests = requests;
  return load;
}

// A step takes 1 s and 0.01 s a row. One user, 100 + 5 tokens: the prompt takes 2 s, each of four
// decode steps 1.01 s.
TEST(SimulateServing, OneUserHasNobodyToWaitFor) {
  const ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  const auto run = simulate_serving(replica, 1, closed(1, 100, 5, 3));
  ASSERT_TRUE(run.has_value());
  for (const RequestTiming& one : run->requests) {
    EXPECT_NEAR(one.ttft().value(), 2.0, 1e-9);
    EXPECT_NEAR(one.tpot().value(), 1.01, 1e-9);
    EXPECT_NEAR(one.e2e().value(), 2.0 + 4 * 1.01, 1e-9);
    EXPECT_NEAR(one.inclusive_tpot().value(), one.e2e().value() / 5.0, 1e-9);
  }
  EXPECT_NEAR(run->duration.value(), 3 * (2.0 + 4 * 1.01), 1e-9);
  EXPECT_NEAR(run->busy_share, 1.0, 1e-9);
}

// Every token after a request's first has one gap before it.
TEST(SimulateServing, CountsOneGapAToken) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  for (const bool mixes : {true, false}) {
    replica.rule.mixes = mixes;
    const auto run = simulate_serving(replica, 1, closed(7, 100, 20, 40));
    ASSERT_TRUE(run.has_value());
    double gaps = 0;
    Seconds sum;
    for (const TokenGap& one : run->gaps) {
      gaps += one.count;
      sum += one.gap * one.count;
    }
    EXPECT_DOUBLE_EQ(gaps, 40.0 * 19);
    // Their sum is the time between the first and the last token of all requests.
    Seconds decoding;
    for (const RequestTiming& one : run->requests) decoding += one.end - one.first_token;
    EXPECT_NEAR(sum.value(), decoding.value(), 1e-6);
  }
}

// Two prompts of 100 and a budget of 150: the second is cut, and ends in the second step, in which
// the first decodes. Decode first: 1 + 1.5 s, then 1 + 0.01 * (1 + 50) s.
TEST(SimulateServing, CutsPromptsAtTheBudget) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  replica.rule.token_budget = 150;
  const auto run = simulate_serving(replica, 1, closed(2, 100, 2, 2));
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->requests[0].ttft().value(), 2.5, 1e-9);
  EXPECT_NEAR(run->requests[1].ttft().value(), 2.5 + 1.51, 1e-9);
  // Not cut: the second waits for a step of its own.
  replica.rule.chunks = false;
  const auto whole = simulate_serving(replica, 1, closed(2, 100, 2, 2));
  EXPECT_NEAR(whole->requests[0].ttft().value(), 2.0, 1e-9);
  EXPECT_NEAR(whole->requests[1].ttft().value(), 2.0 + 1.0 + 0.01 * 101, 1e-9);
}

// Prefill first: the prompts' step takes 2 s, and the decode that runs waits for it.
TEST(SimulateServing, PrefillFirstStallsDecodes) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  replica.rule.mixes = false;
  replica.rule.order = SchedulerOrder::prefill_first;
  ServingLoad load = closed(1, 100, 4, 2);
  load.kind = LoadKind::arrivals;
  load.arrivals = {seconds(0), seconds(2.5)};
  const auto run = simulate_serving(replica, 1, load);
  ASSERT_TRUE(run.has_value());
  // First token at 2, second at 3.01, then the other's prompt until 5.01, third at 6.03 with two
  // rows, last at 7.05.
  EXPECT_NEAR(run->requests[0].end.value(), 7.05, 1e-9);
  EXPECT_NEAR(run->requests[1].first_token.value(), 5.01, 1e-9);
}

// One server, prompts of 1 s, no answers, Poisson at 0.5 a second: the mean wait is rho S / (2 (1 -
// rho)) = 0.5 s (M/D/1).
TEST(SimulateServing, OnePromptServerIsMD1) {
  ServingReplica replica = plain_replica(seconds(0), seconds(0.01));
  replica.rule.token_budget = 100;
  replica.rule.chunks = false;
  ServingLoad load = closed(1, 100, 1, 40'000);
  load.kind = LoadKind::open_loop;
  load.request_rate = 0.5;
  const auto run = simulate_serving(replica, 1, load);
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(metrics_of(*run).ttft.mean.value(), 1.5, 0.03);
  EXPECT_NEAR(run->busy_share, 0.5, 0.01);
}

// Requests in the system on average are rate * time in it, of any run.
TEST(SimulateServing, ObeysLittlesLaw) {
  const auto run = simulate_serving(plain_replica(milliseconds(10), microseconds(10)), 1,
                                    closed(16, 500, 100, 1600));
  ASSERT_TRUE(run.has_value());
  const ServingMetrics m = metrics_of(*run);
  // All users are busy but for the last requests' drain, less than a tenth of a wave.
  EXPECT_NEAR(m.requests_per_second * m.e2e.mean.value(), 16.0, 0.2);
}

// A cache of 250 tokens holds two requests of 100 + 20, not three.
TEST(SimulateServing, ThrowsOutTheNewestFromAFullCache) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0.01), 330);
  const auto run = simulate_serving(replica, 1, closed(3, 100, 50, 6));
  ASSERT_TRUE(run.has_value());
  EXPECT_GT(run->preemptions, 0);
  for (const RequestTiming& one : run->requests) EXPECT_GT(one.end, one.first_token);
  // Reserved to the end: nobody is thrown out, and the third waits.
  replica.rule.full_cache = FullCache::no_evict;
  const auto kept = simulate_serving(replica, 1, closed(3, 100, 50, 6));
  EXPECT_EQ(kept->preemptions, 0);
  EXPECT_GT(kept->requests[2].ttft(), kept->requests[1].ttft() * 2.0);
  // A request that is longer than the cache is never served.
  EXPECT_FALSE(simulate_serving(replica, 1, closed(1, 300, 50, 1)).has_value());
}

// An engine's clock in place of the predicted one: steps of the predicted times give the same run.
TEST(SimulateServing, AnotherClockRunsTheSameSchedule) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0.01), 330);
  replica.rule.token_budget = 60;
  const ServingLoad load = closed(3, 100, 20, 6);
  const auto predicted = simulate_serving(replica, 1, load);
  ASSERT_TRUE(predicted.has_value());

  ServingRun run;
  ReplicaSimulation engine(replica, run);
  std::vector<RequestTiming> timings(6);
  int next = 0;
  const auto ask = [&](Seconds arrival) {
    timings[static_cast<std::size_t>(next)].arrival = arrival;
    engine.enqueue({next++, arrival, 100, 100, 19, false, false});
  };
  for (int user = 0; user < 3; ++user) ask({});
  Seconds clock;
  while (engine.next_start()) {
    engine.compose_step(clock);
    double prompts = 0;
    for (const PromptPart& part : engine.prompts_of(0)) prompts += part.tokens;
    EXPECT_EQ(engine.step_of(0).prefill_tokens, prompts);
    EXPECT_EQ(engine.step_of(0).decode_sequences, static_cast<double>(engine.decodes_of(0).size()));
    clock += step_duration(replica, engine.step_of(0), engine.step_of(0)).duration;
    engine.finish_step(clock);
    for (const StepEvent& e : engine.first_tokens()) {
      timings[static_cast<std::size_t>(e.index)].first_token = e.when;
    }
    for (const StepEvent& e : engine.ends()) {
      timings[static_cast<std::size_t>(e.index)].end = e.when;
      if (next < 6) ask(e.when);
    }
  }
  for (std::size_t i = 0; i < timings.size(); ++i) {
    EXPECT_NEAR(timings[i].first_token.value(), predicted->requests[i].first_token.value(), 1e-9);
    EXPECT_NEAR(timings[i].end.value(), predicted->requests[i].end.value(), 1e-9);
  }
}

// Blocks of 16: two requests of 33 tokens take 3 each. Of 6 blocks none is left for their 49th
// token: the newer one is preempted, and is computed again with what it has. Its first two blocks
// are still cached, because the older one took the third.
TEST(ReplicaSimulation, CountsWholeBlocks) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0), 100);
  replica.rule.block_size = 16;
  ServingRun run;
  ReplicaSimulation engine(replica, run);
  EXPECT_TRUE(engine.could_hold(96));  // 100 tokens are 6 whole blocks
  EXPECT_FALSE(engine.could_hold(97));
  engine.enqueue({0, seconds(0), 33, 33, 30, false, false});
  engine.enqueue({1, seconds(0.5), 33, 33, 30, false, false});
  Seconds clock = seconds(1);
  double left_out_at = 0, found = 0;
  int tokens = 0;
  while (engine.next_start()) {
    engine.compose_step(clock);
    if (!engine.preempted(0).empty()) {
      EXPECT_EQ(engine.preempted(0), std::vector<int>{1});
      left_out_at = engine.step_of(0).decode_context;
    }
    tokens += static_cast<int>(engine.decodes_of(0).size());
    for (const PromptPart& part : engine.prompts_of(0)) {
      tokens += part.last ? 1 : 0;
      found += part.begin;
    }
    clock += seconds(1);
    engine.finish_step(clock);
  }
  EXPECT_EQ(run.preemptions, 1);
  EXPECT_EQ(left_out_at, 49);  // of the one that stays, at its first token of the fourth block
  EXPECT_EQ(found, 32);
  EXPECT_EQ(tokens, 2 * 31);  // one pass gives each of them, computed again or not
}

TEST(SimulateServing, ReplicasShareTheRequests) {
  const ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  const auto one = simulate_serving(replica, 1, closed(1, 100, 5, 3));
  const auto four = simulate_serving(replica, 4, closed(4, 100, 5, 12));
  ASSERT_TRUE(four.has_value());
  EXPECT_NEAR(four->duration.value(), one->duration.value(), 1e-9);
}

// A long answer and two short ones: the third prompt comes while the first answer decodes alone, in
// steps of 1.01 s. It is held for 3 of them, and its own step has 101 rows: 2.01 s.
ServingLoad long_and_short() {
  ServingLoad load = closed(2, 100, 50, 3);
  load.lengths.kind = LengthKind::list;
  load.lengths.list = {{100, 50}, {100, 5}, {100, 5}};
  return load;
}

TEST(SimulateServing, HoldsPromptsBackUntilTheyFillAStep) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  EXPECT_NEAR(simulate_serving(replica, 1, long_and_short())->requests[2].ttft().value(), 2.01,
              1e-9);
  replica.rule.wait = {3, 0.9, 0, 0};
  EXPECT_NEAR(simulate_serving(replica, 1, long_and_short())->requests[2].ttft().value(),
              3 * 1.01 + 2.01, 1e-9);
  // A hundredth of a step of 8,192 rows is filled by one prompt.
  replica.rule.wait = {3, 0.01, 0, 0};
  EXPECT_NEAR(simulate_serving(replica, 1, long_and_short())->requests[2].ttft().value(), 2.01,
              1e-9);
}

// The engine looked for requests behind the prompts, and does so again 10 decode steps later. The
// third request comes behind 4 of them: it waits for 6 of 1.01 s, and its own step takes 2.01 s.
TEST(SimulateServing, SeesRequestsEverySoManyDecodeSteps) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  replica.rule.wait.receive_interval = 10;
  EXPECT_NEAR(simulate_serving(replica, 1, long_and_short())->requests[2].ttft().value(),
              6 * 1.01 + 2.01, 1e-9);
  replica.rule.wait.receive_interval = 1;
  EXPECT_NEAR(simulate_serving(replica, 1, long_and_short())->requests[2].ttft().value(), 2.01,
              1e-9);
}

// Two data ranks, the long answer on one: the other's prompt waits 3 steps for one here.
TEST(SimulateServing, HoldsPromptsBackUntilDataRanksAreBalanced) {
  ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  replica.cost.data_ranks = 2;
  replica.rule.wait = {0, 0, 3, 0};
  EXPECT_NEAR(simulate_serving(replica, 1, long_and_short())->requests[2].ttft().value(),
              3 * 1.01 + 2.01, 1e-9);
}

// Prompts take 2 s and move in 0.5 s; each decode step takes 1.01 s.
TEST(SimulateDisaggregated, SendsACacheBetweenThePools) {
  const ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  const DisaggregatedService service{replica, replica, 1, 1, seconds(0.4), seconds(0.001)};
  const auto run = simulate_disaggregated(service, closed(1, 100, 5, 2));
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->requests[0].ttft().value(), 2.5, 1e-9);
  EXPECT_NEAR(run->requests[0].tpot().value(), 1.01, 1e-9);
  EXPECT_NEAR(run->requests[1].arrival.value(), run->requests[0].end.value(), 1e-9);
  EXPECT_NEAR(run->prefill_busy_share, 2.0 / (2.5 + 4 * 1.01), 1e-6);
}

// Two prompts are computed in 3 s together and move one after the other, 1 s each.
TEST(SimulateDisaggregated, MovesOnePromptAfterTheOther) {
  const ServingReplica replica = plain_replica(seconds(1), seconds(0.01));
  const DisaggregatedService service{replica, replica, 1, 1, seconds(0.4), seconds(0.01)};
  const auto run = simulate_disaggregated(service, closed(2, 100, 5, 2));
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->requests[0].ttft().value(), 4.4, 1e-9);
  EXPECT_NEAR(run->requests[1].ttft().value(), 5.4, 1e-9);
}

// The decode pool's cache of 120 tokens holds one prompt of 100. The first is there at 4 s and ends
// after 4 steps of 1.01 s; the second sets out then.
TEST(SimulateDisaggregated, HoldsRoomForAPromptThatIsMoved) {
  const ServingReplica prefill = plain_replica(seconds(1), seconds(0.01));
  const ServingReplica decode = plain_replica(seconds(1), seconds(0.01), 120);
  const DisaggregatedService service{prefill, decode, 1, 1, seconds(0), seconds(0.01)};
  const auto run = simulate_disaggregated(service, closed(2, 100, 5, 2));
  ASSERT_TRUE(run.has_value());
  EXPECT_NEAR(run->requests[0].end.value(), 4 + 4 * 1.01, 1e-9);
  EXPECT_NEAR(run->requests[1].first_token.value(), 4 + 4 * 1.01 + 1, 1e-9);
}

// 1 to 100: the 99th percentile is 99.
TEST(Percentile, IsTheSmallestThatSoManyDoNotExceed) {
  std::vector<Seconds> sorted;
  for (int i = 1; i <= 100; ++i) sorted.push_back(seconds(i));
  EXPECT_EQ(percentile(sorted, 50), seconds(50));
  EXPECT_EQ(percentile(sorted, 99), seconds(99));
  EXPECT_EQ(percentile(sorted, 99.5), seconds(100));
  EXPECT_EQ(percentiles(sorted).mean, seconds(50.5));
}

TEST(Goodput, CountsRequestsThatMeetBothLimits) {
  ServingRun run;
  run.duration = seconds(10);
  run.requests = {{seconds(0), seconds(1), seconds(5), 10, 5},
                  {seconds(0), seconds(3), seconds(5), 10, 5}};
  EXPECT_DOUBLE_EQ(goodput(run, std::nullopt, std::nullopt), 0.2);
  EXPECT_DOUBLE_EQ(goodput(run, seconds(2), std::nullopt), 0.1);
  EXPECT_DOUBLE_EQ(goodput(run, seconds(2), seconds(0.5)), 0.0);
}

// A prompt of 5 tokens that another replica computed, and two more tokens of its answer.
// Requests come at 0, 1, ... 7 s and end 2 s later, with 10 tokens each: 8 in 9 s. The first end in
// the second half of 7 s is at 4 s. From there to the last arrival at 7 s three end: 1 a second, as
// they come.
TEST(SteadyMetrics, LeaveOutTheStartAndTheEnd) {
  ServingRun run;
  for (int i = 0; i < 8; ++i) {
    RequestTiming& one = run.requests.emplace_back();
    one.arrival = seconds(i);
    one.first_token = seconds(i + 1.0);
    one.end = seconds(i + 2.0);
    one.output = 10;
  }
  run.duration = seconds(9);
  EXPECT_DOUBLE_EQ(metrics_of(run).requests_per_second, 8.0 / 9.0);
  EXPECT_DOUBLE_EQ(steady_metrics(run).requests_per_second, 1.0);
  EXPECT_DOUBLE_EQ(steady_metrics(run).output_tokens_per_second, 10.0);
  // All at once there is no steady part.
  for (RequestTiming& one : run.requests) one.arrival = {};
  EXPECT_DOUBLE_EQ(steady_metrics(run).requests_per_second, 8.0 / 9.0);
}

TEST(ReplicaSimulation, ACacheOnItsWayIsHereWhenTheEngineSaysSo) {
  const ServingReplica replica = test::plain_replica(milliseconds(1), {});
  ServingRun run;
  run.requests.resize(4);
  ReplicaSimulation engine(replica, run);
  QueuedRequest request;
  request.index = 3;
  request.input = request.computed = 5;
  request.remaining = 2;
  request.moved = true;
  request.moving = seconds(std::numeric_limits<double>::infinity());
  engine.enqueue(request);
  engine.compose_step({});
  EXPECT_EQ(engine.fetched(0), std::vector<int>{3});
  EXPECT_TRUE(engine.decodes_of(0).empty());
  engine.finish_step(milliseconds(1));
  EXPECT_FALSE(engine.next_start() <= seconds(1e9));
  engine.arrive(3, milliseconds(2));
  EXPECT_EQ(engine.next_start(), milliseconds(2));
  engine.compose_step(milliseconds(2));
  EXPECT_TRUE(engine.fetched(0).empty());
  ASSERT_EQ(engine.first_tokens().size(), 1U);
  EXPECT_EQ(engine.first_tokens()[0].when, milliseconds(2));
  EXPECT_EQ(engine.decodes_of(0), std::vector<int>{3});
  engine.finish_step(milliseconds(3));
  engine.compose_step(milliseconds(3));
  engine.finish_step(milliseconds(4));
  ASSERT_EQ(engine.ends().size(), 1U);
  EXPECT_EQ(engine.ends()[0].when, milliseconds(4));
}

}  // namespace
}  // namespace meshwright
