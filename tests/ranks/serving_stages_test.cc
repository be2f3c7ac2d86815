// SPDX-License-Identifier: Apache-2.0
// Serving through pipeline stages on real ranks: what serving_test.cc asks of tensor ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "calibrate/trial/serving/serving_trial.h"
#include "sim/serving/kv_cache.h"
#include "tests/ranks/serving_checks.h"

namespace meshwright::calibrate {
namespace {

// Stages need two ranks, and a network on which a send does not wait for its receiver.
bool has_stages(const Communicator& ranks) { return ranks.size() > 1 && serves_stages(ranks); }

// Two ranks are two stages; four are two of two tensor ranks, or four.
std::vector<ReplicaLayout> stage_layouts(const Communicator& ranks) {
  std::vector<ReplicaLayout> layouts{
      {.tensor_parallel_size = ranks.size() / 2, .pipeline_parallel_size = 2}};
  if (ranks.size() == 4) layouts.push_back({.pipeline_parallel_size = 4});
  return layouts;
}

ServingScenario staged(const Model& model, const ReplicaLayout& layout) {
  ServingScenario s = scenario_of(model, layout.tensor_parallel_size);
  s.options.layout = layout;
  return s;
}

TEST(ServingStages, TokensAreThoseOfOneRankWithoutACache) {
  const auto ranks = serving_group();
  if (!has_stages(*ranks)) GTEST_SKIP() << "two stages are two ranks";
  for (const ReplicaLayout& layout : stage_layouts(*ranks)) {
    for (const Model& model : dense_models()) {
      expect_serves(staged(model, layout), short_name(layout));
    }
    expect_serves(staged(small_mla(), layout), short_name(layout));
    expect_serves(staged(small_moe(), layout), short_name(layout));
    ReplicaLayout experts = layout;
    experts.expert_parallel_size = layout.tensor_parallel_size;
    expect_serves(staged(small_moe(), experts), short_name(experts));
  }
}

// Five layers: 2 and 3, or 1, 1, 1 and 2. With the embedding's matrix on both ends, or two of them.
TEST(ServingStages, LayersNeedNotDivide) {
  const auto ranks = serving_group();
  if (!has_stages(*ranks)) GTEST_SKIP() << "two stages are two ranks";
  for (const ReplicaLayout& layout : stage_layouts(*ranks)) {
    for (const bool tied : {false, true}) {
      Model model = small_llama();
      model.num_layers = 5;
      model.tied_embeddings = tied;
      expect_serves(staged(model, layout), fmt::format("{} tied {}", short_name(layout), tied));
    }
  }
}

// Prefill first has steps of prompts alone; in flight, prompts are whole. One user at a time leaves
// all batches but one empty.
TEST(ServingStages, EveryRuleAndLoadGivesTheSameTokens) {
  const auto ranks = serving_group();
  if (!has_stages(*ranks)) GTEST_SKIP() << "two stages are two ranks";
  for (const ReplicaLayout& layout : stage_layouts(*ranks)) {
    ServingScenario s = staged(small_llama(), layout);
    ServingLoad load = some_requests();
    load.concurrency = 1;
    expect_serves(s, "one user", 16, false, load);
    load.kind = LoadKind::open_loop;
    load.request_rate = 300;
    expect_serves(s, "open loop", 16, false, load);
    s.engine.order = SchedulerOrder::prefill_first;
    s.engine.mixes_prefill_and_decode = false;
    s.engine.full_cache = FullCache::retract;
    expect_serves(s, "prefill first");
    s.engine.order = SchedulerOrder::in_flight;
    s.engine.mixes_prefill_and_decode = true;
    s.engine.chunked_prefill = false;
    s.engine.full_cache = FullCache::no_evict;
    expect_serves(s, "in flight");
  }
}

// All requests at once, and blocks for 24 tokens: in the fifth step requests 0, 2 and 3 need blocks
// for 12 + 8 + 8. Blocks change their owner while passes are on their way.
TEST(ServingStages, RequestsThatLoseTheirPlaceGiveTheSameTokens) {
  const auto ranks = serving_group();
  if (!has_stages(*ranks)) GTEST_SKIP() << "two stages are two ranks";
  ServingLoad load = some_requests();
  load.kind = LoadKind::all_at_once;
  for (const ReplicaLayout& layout : stage_layouts(*ranks)) {
    expect_serves(staged(small_llama(), layout), short_name(layout), 6, true, load);
  }
}

TEST(ServingStages, BytesAreTheLedgersInSixteenBits) {
  const auto ranks = serving_group();
  if (!has_stages(*ranks)) GTEST_SKIP() << "two stages are two ranks";
  for (const ReplicaLayout& layout : stage_layouts(*ranks)) {
    ServingModelOptions options = model_options();
    options.precision = Precision::bf16;
    const ServingScenario scenario = staged(small_moe(), layout);
    ServingEngine engine(scenario, *machine().compute, *ranks, options);
    engine.run(some_requests());
    expect_ledger(engine, short_name(layout));
  }
}

// 5 layers: 2 and 3, or 1, 1, 1 and 2. A stage caches its own alone.
TEST(ServingStages, TheCacheTakesTheBytesOfTheStagesLayers) {
  const auto ranks = serving_group();
  if (!has_stages(*ranks)) GTEST_SKIP() << "two stages are two ranks";
  for (const ReplicaLayout& layout : stage_layouts(*ranks)) {
    for (Model model : {small_llama(), small_mla()}) {
      model.num_layers = 5;
      const ServingScenario s = staged(model, layout);
      const ServingModel served(model, layout, *machine().compute, *ranks, model_options(10));
      const bool last = served.is_last_stage();
      const int layers = layout.pipeline_parallel_size == 2 ? (last ? 3 : 2) : (last ? 2 : 1);
      EXPECT_EQ(served.cache_size(),
                kv_rank_layer_bytes(model, s.options) * (layers * 2.0 * 10 * 4))
          << model.name << " stage " << served.stage();
    }
  }
}

TEST(ServingStages, EachTransferThatIsLeftOutIsNoticed) {
  const auto ranks = serving_group();
  if (!has_stages(*ranks)) GTEST_SKIP() << "two stages are two ranks";
  for (const ReplicaLayout& layout : stage_layouts(*ranks)) {
    expect_every_transfer_noticed(staged(small_llama(), layout));
    expect_every_transfer_noticed(staged(small_mla(), layout));
    ReplicaLayout experts = layout;
    experts.expert_parallel_size = layout.tensor_parallel_size;
    expect_every_transfer_noticed(staged(small_moe(), experts));
  }
}

// Rows of all stages, added up. Three users keep two batches on their way.
TEST(ServingStages, TheTrialGivesTheTransfersOfAllStages) {
  const int ranks = tensor_size();
  const int tensor = std::max(1, ranks / 2);
  const ServingScenario s =
      staged(small_llama(), {.tensor_parallel_size = tensor, .pipeline_parallel_size = 2});
  const ServingObservation o =
      run_serving_trial(s, 1, some_requests(), *machine().compute, *machine().world,
                        {.seed = kServedSeed, .warmup_requests = 1});
  if (machine().world->size() < 2) {
    EXPECT_EQ(o.failure, "a replica needs 2 ranks, 1 are here");
    return;
  }
  if (!serves_stages(*machine().world)) {
    EXPECT_EQ(o.failure, "the trial runs pipeline stages of a service between cores only");
    return;
  }
  ASSERT_EQ(o.failure, "");
  EXPECT_EQ(o.ranks, 2 * tensor);
  EXPECT_EQ(o.requests, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  double gaps = 0;
  for (const RequestTiming& t : o.run.requests) {
    EXPECT_GT(t.first_token, t.arrival);
    EXPECT_GE(t.end, t.first_token);
    gaps += t.output - 1;
  }
  EXPECT_EQ(static_cast<double>(o.run.gaps.size()), gaps);
  for (const ObservedServingStep& step : o.steps) {
    EXPECT_TRUE(step.bytes_as_said);
    EXPECT_GT(step.time, seconds(0));
    EXPECT_GT(step.sent, bytes(0));
  }
  if (machine().world->rank() >= o.ranks) return;  // it took no part
  double passes = 0;
  std::vector<std::string_view> names;
  for (const ServedTransfer& t : o.transfers) {
    names.push_back(t.counted.name);
    EXPECT_EQ(t.counted.times_per_step, t.said_calls) << t.counted.name;
    EXPECT_NEAR(t.counted.payload_per_step() / t.said_payload, 1.0, 1e-9) << t.counted.name;
    if (t.counted.name == "stage send") passes = t.said_calls;
  }
  EXPECT_EQ(names.size(), tensor > 1 ? 5U : 1U);
  // A step is a pass of one stream, which sets out before the other one's is back.
  EXPECT_EQ(passes, static_cast<double>(o.steps.size()));
  int beside = 0;
  for (std::size_t i = 1; i < o.steps.size(); ++i) {
    const ObservedServingStep& before = o.steps[i - 1];
    beside += o.steps[i].begin < before.begin + before.time ? 1 : 0;
  }
  EXPECT_GT(beside, static_cast<int>(o.steps.size()) / 2);
}

}  // namespace
}  // namespace meshwright::calibrate
