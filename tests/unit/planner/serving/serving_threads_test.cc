// SPDX-License-Identifier: Apache-2.0
// Questions of engines' users, with the numbers that they measured.
#include <gtest/gtest.h>

#include "planner/serving/serving_search.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright::planner {
namespace {

// The text part of Qwen3-Omni is a Qwen3-30B-A3B; one H200 a replica.
ServingScenario thinker_on_h200() {
  ServingScenario s{test::shipped_model("qwen3-30b-a3b"),
                    test::shipped_cluster("h200-512"),
                    test::shipped_engine("sglang-0.5.14"),
                    {}};
  s.options.weights = usual_scheme(WeightFormat::bf16, s.model);
  return s;
}

// `running`: requests that a replica runs together, at most; 0: the engine's.
Deployment pools_of(const ServingScenario& s, int prefill, int decode, int running) {
  ReplicaOptions options = s.options;
  options.max_num_seqs = running;
  options = with_defaults(options, s.engine, only_device(s.cluster), s.model);
  if (prefill == 0) return {{options, decode}, {}};
  return {{options, decode}, ServingPool{options, prefill}};
}

ServingRun served(const ServingScenario& s, const Deployment& deployment, const ServingLoad& load) {
  const auto run = simulate_service(compiled_service(s, deployment, load), load);
  EXPECT_TRUE(run.has_value());
  return run.value_or(ServingRun{});
}

ServingLoad users_with(double users, int input, int output) {
  ServingLoad load;
  load.concurrency = users;
  load.num_requests = 100;
  load.lengths = {LengthKind::fixed, input, output, 1.0, {}};
  return load;
}

double rate_of(const ServingRun& run) { return metrics_of(run).requests_per_second; }

// sglang-omni#1760 and #1599: 8,128 + 32 tokens, 16 users, four requests a half: 5.58 requests a
// second of one prefill and one decode card. A second decode card changes -0.3 %, and the prefill
// card is 100 % busy. 5.15 a second are predicted, 0.92 of what was measured.
TEST(ThreadSglangOmni1760, LongPromptsAreBoundByTheirPrefillCard) {
  const ServingScenario s = thinker_on_h200();
  const ServingLoad load = users_with(16, 8128, 32);
  const ServingRun one = served(s, pools_of(s, 1, 1, 4), load);
  const ServingRun two = served(s, pools_of(s, 1, 2, 4), load);
  EXPECT_NEAR(rate_of(two) / rate_of(one), 0.997, 0.03);
  EXPECT_GT(one.prefill_busy_share, 0.95);
  EXPECT_NEAR(rate_of(one) / 5.58, 0.92, 0.03);
}

// The same: 1,024-token prompts, 16 users: the second decode card gives 66 % more. The length of
// the answers is not told; of 256 tokens, prompts are little work. Twice is the most.
TEST(ThreadSglangOmni1760, ShortPromptsWantASecondDecodeCard) {
  const ServingScenario s = thinker_on_h200();
  const ServingLoad load = users_with(16, 1024, 256);
  const ServingRun one = served(s, pools_of(s, 1, 1, 4), load);
  const ServingRun two = served(s, pools_of(s, 1, 2, 4), load);
  EXPECT_GT(rate_of(two) / rate_of(one), 1.46);
  EXPECT_LT(rate_of(two) / rate_of(one), 2.01);
}

// sglang-omni#1599: short prompts with answers of 128 tokens, 58 ms of prefill against 2.2 s of
// decoding: 58 / 2,258 is 2.6 % of a request's work. The prefill card of a pair is 10.1 % busy; two
// cards that do both serve more than the pair. The length of a prompt is not told: 64 tokens.
TEST(ThreadSglangOmni1599, APrefillCardOfShortPromptsIsIdle) {
  const ServingScenario s = thinker_on_h200();
  ServingLoad load = users_with(32, 64, 128);
  const ServingRun pair = served(s, pools_of(s, 1, 1, 0), load);
  const ServingRun both = served(s, pools_of(s, 0, 2, 0), load);
  EXPECT_LT(pair.prefill_busy_share, 0.2);
  EXPECT_GT(pair.busy_share, 0.8);
  EXPECT_GT(rate_of(both), rate_of(pair));
}

// kubernetes-sigs/inference-perf#139: cost of a million tokens = cost an hour / (tokens a second *
// 3,600) * 10^6. 8 GPUs at 2.00: 16.00 an hour; 10 requests/s of 900 + 100 tokens: 16 / (10,000 *
// 3,600) * 10^6 = 0.444. Half the load on the same GPUs costs twice as much a token: they are paid
// whether they work or not (llm-d PR#1646).
TEST(ThreadInferencePerf139, ReservedGpusArePaidByTheHour) {
  ServedTokens at_limit;
  at_limit.gpus = 8;
  at_limit.requests_per_second = 10;
  at_limit.input = 900;
  at_limit.output = 100;
  at_limit.prompt_share = 0.9;
  const ServingMoney money = serving_money(at_limit, stated(2.0));
  EXPECT_DOUBLE_EQ(money.per_hour, 16.0);
  EXPECT_NEAR(money.million_total.value, 16.0 / (10'000.0 * 3'600.0) * 1e6, 1e-9);
  // 9,000 input tokens a second for 0.9 of the money, 1,000 of output for 0.1.
  EXPECT_NEAR(money.million_input.value, 16.0 * 0.9 / (9'000.0 * 3'600.0) * 1e6, 1e-9);
  EXPECT_NEAR(money.million_output.value, 16.0 * 0.1 / (1'000.0 * 3'600.0) * 1e6, 1e-9);
  ServedTokens at_mean = at_limit;
  at_mean.requests_per_second = 5;
  EXPECT_NEAR(serving_money(at_mean, stated(2.0)).million_total.value,
              2.0 * money.million_total.value, 1e-9);
}

}  // namespace
}  // namespace meshwright::planner
