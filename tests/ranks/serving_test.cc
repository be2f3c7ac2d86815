// SPDX-License-Identifier: Apache-2.0
// Serving on real ranks: the tokens of many requests that share steps and a paged cache are those
// that one rank gives to each alone without a cache; bytes are the ledger's; no transfer can be
// left out unseen.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "calibrate/serving_bench.h"
#include "calibrate/trial/serving/pool_flow.h"
#include "calibrate/trial/serving/serving_trial.h"
#include "sim/serving/kv_cache.h"
#include "tests/ranks/omitting_communicator.h"
#include "tests/ranks/serving_checks.h"

namespace meshwright::calibrate {
namespace {

TEST(Serving, TokensAreThoseOfOneRankWithoutACache) {
  for (const Model& model : dense_models()) {
    expect_serves(scenario_of(model, tensor_size()), "decode first");
  }
}

TEST(Serving, ExpertsOnTheTensorRanksGiveTheSameTokens) {
  for (const Model& model : {small_moe(), small_gpt_oss()}) {
    for (int experts = 1; experts <= tensor_size(); experts *= 2) {
      expect_serves(scenario_of(model, tensor_size(), experts), fmt::format("ep{}", experts));
    }
  }
}

// Keys and values are never made: queries are taken into the latents' space, and outputs back.
TEST(Serving, LatentAttentionGivesTheSameTokens) {
  Model direct = small_mla();
  direct.mla->q_lora_rank = 0;
  for (const Model& model : {small_mla(), direct}) {
    expect_serves(scenario_of(model, tensor_size()), "latent");
  }
}

TEST(Serving, EveryRuleGivesTheSameTokens) {
  ServingScenario s = scenario_of(small_llama(), tensor_size());
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

// Three requests of up to 15 tokens, and blocks for 24: some lose their place and are computed
// again.
TEST(Serving, RequestsThatLoseTheirPlaceGiveTheSameTokens) {
  // 7 and 9 tokens take two and three blocks of four; the ninth of the first finds none.
  ServingLoad load = some_requests();
  load.kind = LoadKind::all_at_once;
  expect_serves(scenario_of(small_llama(), tensor_size()), "full cache", 5, true, load);
}

// In 16 bits activations and messages are as wide as the ledger's.
TEST(Serving, BytesAreTheLedgersInSixteenBits) {
  const auto ranks = serving_group();
  const ServingScenario scenario = scenario_of(small_moe(), ranks->size());
  ServingModelOptions options = model_options();
  options.precision = Precision::bf16;
  ServingEngine engine(scenario, *machine().compute, *ranks, options);
  engine.run(some_requests());
  expect_ledger(engine, "bf16");
}

// What a calibration times of the engine: right numbers of attention, whole runs of steps.
TEST(ServingBench, ComputesWhatItTimes) {
  MeasuredPoint point;
  for (const PagedAttentionShape& shape :
       {PagedAttentionShape{3, 1, 70, 4, 2, 8}, PagedAttentionShape{2, 20, 0, 4, 4, 8},
        PagedAttentionShape{2, 5, 33, 4, 1, 16}, PagedAttentionShape{3, 1, 70, 4, 1, 8, 16, 4, 8},
        PagedAttentionShape{2, 5, 0, 2, 1, 8, 16, 4, 12}}) {
    point.subject = timed::PagedAttention{shape};
    const auto bench = make_serving_bench(*machine().compute, *machine().world, point);
    EXPECT_EQ(bench->check(), "");
    bench->run(3);
  }
  point.subject = timed::EngineStep{{4, 100}};
  const auto bench = make_serving_bench(*machine().compute, *machine().world, point);
  EXPECT_EQ(bench->check(), "");
  EXPECT_EQ(bench->units(), 33.0);
  point.subject = timed::CacheCopy{{37, 3, 2, 8, 4}};
  const auto copies = make_serving_bench(*machine().compute, *machine().world, point);
  EXPECT_EQ(copies->check(), "");
  copies->run(2);
  point.subject = timed::KernelLaunch{};
  EXPECT_EQ(make_serving_bench(*machine().compute, *machine().world, point), nullptr);
}

// 2 rows of 32 numbers of 4 bytes = 256 bytes: the embedding, and two of each of 4 layers. Logits
// of 2 sequences x 128 padded entries x 4 bytes = 1024.
TEST(Serving, TransfersAreTwoALayerAndTheVocabularys) {
  const auto ranks = serving_group();
  if (ranks->size() == 1) GTEST_SKIP() << "one rank moves nothing";
  ServingModel model(small_model(), scenario_of(small_model(), ranks->size()).options.layout,
                     *machine().compute, *ranks, model_options());
  BlockTable first{0}, second{1};
  const std::vector<std::int32_t> tokens{5, 6};
  model.recorder().begin_step();
  model.pass({{tokens.data(), 1, 0, &first}, {tokens.data() + 1, 1, 0, &second}});
  model.recorder().end_step();
  double calls = 0, payload = 0;
  for (const Transfer& t : model.recorder().transfers()) {
    calls += t.times_per_step;
    payload += t.payload_per_step().value();
  }
  EXPECT_EQ(calls, 2 * 4 + 1 + 1);
  EXPECT_EQ(payload, (2 * 4 + 1) * 256.0 + 1024.0);
}

// The ledger's bytes of a token have numbers of two bytes, the cache here those of four.
TEST(Serving, TheCacheTakesTheBytesOfItsBlocks) {
  const auto ranks = serving_group();
  for (const Model& model : {small_llama(), small_multi_query(), small_moe(), small_mla()}) {
    const ServingScenario s = scenario_of(model, ranks->size());
    ServingModel served(model, s.options.layout, *machine().compute, *ranks, model_options(10));
    const Bytes token = kv_rank_layer_bytes(model, s.options) * model.num_layers;
    EXPECT_EQ(served.cache_size(), token * (2.0 * 10 * 4)) << model.name;
    ServingModel larger(model, s.options.layout, *machine().compute, *ranks, model_options(20));
    EXPECT_EQ(larger.used_memory() - served.used_memory(), served.cache_size()) << model.name;
  }
}

TEST(Serving, EachTransferThatIsLeftOutIsNoticed) {
  const int ranks = tensor_size();
  if (ranks == 1) GTEST_SKIP() << "one rank moves nothing";
  expect_every_transfer_noticed(scenario_of(small_llama(), ranks));
  expect_every_transfer_noticed(scenario_of(small_moe(), ranks, ranks));
  expect_every_transfer_noticed(scenario_of(small_mla(), ranks));
}

// Each replica is half of the ranks, or the one there is; requests go round.
TEST(ServingTrial, ReplicasServeTheirSharesOfTheLoad) {
  const int ranks = tensor_size();
  const int tensor = std::max(1, ranks / 2);
  ServingLoad load = some_requests();
  load.kind = LoadKind::open_loop;
  load.request_rate = 200;
  const ServingScenario s = scenario_of(small_llama(), tensor);
  const ServingObservation o = run_serving_trial(s, 2, load, *machine().compute, *machine().world,
                                                 {.seed = kServedSeed, .warmup_requests = 1});
  ASSERT_EQ(o.failure, "");
  EXPECT_EQ(o.run_replicas, ranks == 1 ? 1 : 2);
  EXPECT_EQ(o.not_run.size(), ranks == 1 ? 2U : 1U);  // fp32 in place of bf16, too
  const std::vector<int> all =
      ranks == 1 ? std::vector<int>{0, 2, 4} : std::vector<int>{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(o.requests, all);
  const std::vector<ServingRequest> asked = requests_of(load);
  double gaps = 0;
  for (std::size_t i = 0; i < o.requests.size(); ++i) {
    const RequestTiming& t = o.run.requests[i];
    const ServingRequest& request = asked[static_cast<std::size_t>(o.requests[i])];
    EXPECT_EQ(t.arrival, request.arrival);
    EXPECT_GT(t.first_token, t.arrival);
    EXPECT_GE(t.end, t.first_token);
    gaps += t.output - 1;
  }
  EXPECT_EQ(static_cast<double>(o.run.gaps.size()), gaps);
  EXPECT_EQ(static_cast<std::int64_t>(o.steps.size()), o.run.steps);
  for (const ObservedServingStep& step : o.steps) EXPECT_GT(step.time, seconds(0));
  EXPECT_GT(o.run.busy_share, 0.0);
  EXPECT_LE(o.run.busy_share, 1.0);
}

// Half of the ranks compute prompts, the other half decode.
PoolSizes halves(const Communicator& ranks) {
  const int half = ranks.size() / 2;
  return {.prefill_ranks = half, .decode_ranks = half};
}

// A load through two pools. The engine of this rank has what it did.
struct PoolsUnderTest {
  PoolSizes sizes;
  PoolPlace place;
  ServingScenario scenario;
  std::unique_ptr<Communicator> replica;
  std::optional<ServingEngine> engine{};
  std::vector<ObservedHandover> handovers{};
  Bytes sent{};

  PoolsUnderTest(
      const Model& model, const PoolSizes& of, const ServingLoad& load, Communicator& ranks,
      std::int64_t blocks = 16, const std::function<void()>& begin = [] {})
      : sizes(of),
        place(of.place(ranks.rank())),
        scenario(scenario_of(model, place.prefill ? of.prefill_ranks : of.decode_ranks)),
        replica(
            ranks.split((place.prefill ? 0 : of.prefill_replicas) + place.replica, ranks.rank())) {
    engine.emplace(scenario, *machine().compute, *replica, model_options(blocks));
    begin();
    ReplicaOptions decode = scenario.options;
    decode.layout.tensor_parallel_size = of.decode_ranks;
    const PoolRun run{sizes, load, decode, ranks, *replica, engine->model()};
    const auto share = [&](int replicas) {
      return ServedShare{static_cast<std::size_t>(place.replica),
                         static_cast<std::size_t>(replicas)};
    };
    if (place.prefill) {
      PrefillFlow flow(run);
      engine->run(load, share(of.prefill_replicas), &flow);
      flow.finish();
      sent = flow.sent();
    } else {
      DecodeFlow flow(run);
      engine->run(load, share(of.decode_replicas), &flow);
      flow.finish();
      handovers = flow.handovers();
    }
  }
};

void expect_pools_serve(const Model& model, const PoolSizes& sizes, const ServingLoad& load,
                        Communicator& ranks, const std::string& what, std::int64_t blocks = 16) {
  const PoolsUnderTest pools(model, sizes, load, ranks, blocks);
  EXPECT_EQ(pools.engine->blocks_used(), 0) << what;
  expect_ledger(*pools.engine, what);
  const auto& timings = pools.engine->observed().requests;
  if (pools.place.prefill) {
    for (const RequestTiming& t : timings) EXPECT_EQ(t.output, 1) << what;
  } else {
    EXPECT_EQ(pools.handovers.size(), timings.size()) << what;
    for (const ObservedHandover& one : pools.handovers) {
      EXPECT_TRUE(one.bytes_as_said) << what << ", request " << one.request;
    }
    for (const RequestTiming& t : timings) {
      EXPECT_GT(t.first_token, t.arrival) << what;
      EXPECT_GE(t.end, t.first_token) << what;
    }
  }
  // Each rank asks for answers alone; only those of the decode pool are whole.
  if (pools.place.prefill) {
    Alone alone(model);
    for (const int request : pools.engine->requests()) {
      const std::vector<std::int32_t>& tokens = pools.engine->tokens_of(request);
      const int input = static_cast<int>(tokens.size()) - 1;
      EXPECT_EQ(tokens, alone.answer(tokens, input, 1)) << model.name << ", " << what;
    }
  } else {
    expect_tokens_alone(*pools.engine, model, what);
  }
}

// The pool tests need two ranks that receive beside their steps.
bool hands_over(const Communicator& ranks) { return ranks.size() > 1 && ranks.receives_alone(); }

TEST(ServingPools, TokensAreThoseOfOneRankWithoutACache) {
  const auto ranks = serving_group();
  if (!hands_over(*ranks)) GTEST_SKIP() << "two pools are two ranks";
  Model sinks = small_window();
  sinks.attention_sinks = true;
  for (const Model& model :
       {small_model(), small_llama(), small_multi_query(), small_moe(), small_mla(), sinks}) {
    expect_pools_serve(model, halves(*ranks), some_requests(), *ranks, "halves");
  }
}

// One, two or three replicas on either side; ranks that cut or join the groups.
TEST(ServingPools, EverySplitOfTheRanksGivesTheSameTokens) {
  const auto ranks = serving_group();
  if (!hands_over(*ranks)) GTEST_SKIP() << "two pools are two ranks";
  std::vector<PoolSizes> splits{{1, 1, 1, 1}};
  if (ranks->size() == kHeadsOfEach) {
    splits = {{1, 1, 3, 1}, {3, 1, 1, 1}, {2, 1, 1, 2}, {1, 2, 2, 1}, {2, 1, 2, 1}};
  }
  for (const PoolSizes& sizes : splits) {
    for (const Model& model : {small_llama(), small_multi_query(), small_mla()}) {
      expect_pools_serve(
          model, sizes, some_requests(), *ranks,
          fmt::format("{} x {} + {} x {}", sizes.prefill_replicas, sizes.prefill_ranks,
                      sizes.decode_replicas, sizes.decode_ranks));
    }
  }
}

// Requests come by themselves, and a decode cache of six blocks holds one or two of them: prompts
// wait for room, and some lose their place and are computed again by the replica that decodes.
TEST(ServingPools, PromptsWaitForRoomInTheDecodePool) {
  const auto ranks = serving_group();
  if (!hands_over(*ranks)) GTEST_SKIP() << "two pools are two ranks";
  ServingLoad load = some_requests();
  load.kind = LoadKind::open_loop;
  load.request_rate = 2000;
  expect_pools_serve(small_llama(), halves(*ranks), load, *ranks, "six blocks", 6);
}

// 4 layers of 2 groups of 8 numbers, keys and values: 128 numbers of 4 bytes, 512 bytes a token.
// Prompts of 7, 9, 3, 8, 1 and 7 tokens are 35 tokens.
TEST(ServingPools, BytesOfCachesAreThoseOfTheirTokens) {
  const auto ranks = serving_group();
  if (!hands_over(*ranks)) GTEST_SKIP() << "two pools are two ranks";
  const Model model = small_llama();
  const double token = 4.0 * 2.0 * model.num_layers * model.num_query_groups * model.kv_channels;
  const PoolsUnderTest pools(model, halves(*ranks), some_requests(), *ranks);
  Bytes received;
  for (const ObservedHandover& one : pools.handovers) received += one.received;
  const double of_rank = 35.0 * token / pools.sizes.decode_ranks;
  EXPECT_EQ(received.value(), pools.place.prefill ? 0.0 : of_rank);
  EXPECT_EQ(pools.sent.value(), pools.place.prefill ? of_rank : 0.0);
}

// Answers of all requests that this rank decodes.
std::vector<std::int32_t> answers_of(const PoolsUnderTest& pools) {
  std::vector<std::int32_t> all;
  if (pools.place.prefill) return all;
  for (const int request : pools.engine->requests()) {
    const std::vector<std::int32_t>& tokens = pools.engine->tokens_of(request);
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
  return all;
}

// Every answer has a token that needs the cache: one of a single token is over when it arrives.
ServingLoad longer_answers() {
  ServingLoad load = some_requests();
  load.lengths.list = {{7, 5}, {9, 3}, {3, 6}, {8, 7}, {1, 4}};
  return load;
}

// Caches have a communicator of their own, the first one that is split off behind the replica's.
TEST(ServingPools, EachCacheThatIsLeftOutIsNoticed) {
  const auto ranks = serving_group();
  if (!hands_over(*ranks)) GTEST_SKIP() << "two pools are two ranks";
  for (const Model& model : {small_llama(), small_mla()}) {
    const PoolSizes sizes = halves(*ranks);
    const auto whole = answers_of(PoolsUnderTest(model, sizes, longer_answers(), *ranks));
    Omission counted;
    int caches = 0;
    {
      OmittingCommunicator counting(nullptr, *ranks, counted, -1);
      const PoolsUnderTest pools(model, sizes, longer_answers(), counting, 16, [&] {
        caches = counted.splits;
        counted.begin({.split = -2});
      });
      (void)pools;
    }
    int calls = 0;
    for (int pair = 0; pair < sizes.decode_ranks; ++pair) {
      const TransferCall call{.split = caches, .from = pair, .to = sizes.first_decode(0) + pair};
      const auto found = counted.made.find(call);
      const int mine = found == counted.made.end() ? 0 : found->second;
      const int made = static_cast<int>(ranks->host_max(mine));
      EXPECT_EQ(made, 6) << model.name << ", from rank " << pair;
      for (int n = 0; n < made; ++n) {
        Omission omission;
        OmittingCommunicator omitting(nullptr, *ranks, omission, -1);
        TransferCall left_out = call;
        left_out.n = n;
        const PoolsUnderTest pools(model, sizes, longer_answers(), omitting, 16,
                                   [&] { omission.begin(left_out); });
        const double differs = answers_of(pools) == whole ? 0.0 : 1.0;
        EXPECT_GT(ranks->host_max(differs), 0.0) << model.name << " from " << pair << " call " << n;
        ++calls;
      }
    }
    EXPECT_EQ(calls, 6 * sizes.decode_ranks);
  }
}

TEST(ServingTrial, PoolsGiveTheTimesOfRequestsAndHandovers) {
  const int ranks = tensor_size();
  const int half = std::max(1, ranks / 2);
  const ServingScenario decode = scenario_of(small_llama(), half);
  const ServingObservation o =
      run_pools_trial(decode, {decode.options, 1, 1}, some_requests(), *machine().compute,
                      *machine().world, {.seed = kServedSeed, .warmup_requests = 1});
  if (machine().world->size() < 2) {
    EXPECT_EQ(o.failure, "both pools need 2 ranks, 1 are here");
    return;
  }
  if (!machine().world->receives_alone()) {
    EXPECT_EQ(o.failure, "the trial hands caches over between cores only");
    return;
  }
  ASSERT_EQ(o.failure, "");
  EXPECT_EQ(o.ranks, 2 * half);
  EXPECT_EQ(o.requests, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(o.handovers.size(), 6U);
  for (const ObservedHandover& one : o.handovers) {
    const RequestTiming& t = o.run.requests[static_cast<std::size_t>(one.request)];
    EXPECT_GT(one.ready, t.arrival);
    EXPECT_GE(one.end, one.begin);
    EXPECT_EQ(one.end, t.first_token);
    EXPECT_TRUE(one.bytes_as_said);
  }
  double gaps = 0;
  for (const RequestTiming& t : o.run.requests) gaps += t.output - 1;
  EXPECT_EQ(static_cast<double>(o.run.gaps.size()), gaps);
  // Prompts are computed in the first replica alone.
  for (const ObservedServingStep& step : o.steps) {
    EXPECT_EQ(step.step.prefill_tokens > 0.0, o.of_prefill_pool(step));
  }
  EXPECT_GT(o.run.prefill_busy_share, 0.0);
  EXPECT_GT(o.run.busy_share, 0.0);
}

TEST(ServingTrial, SaysWhatItDoesNotServe) {
  ServingScenario s = scenario_of(small_llama(), 1);
  EXPECT_EQ(serving_unsupported(s, some_requests()), "");
  s.options.layout.pipeline_parallel_size = 2;
  EXPECT_EQ(serving_unsupported(s, some_requests()), "");
  EXPECT_EQ(pools_unsupported(scenario_of(small_llama(), 1), s.options, some_requests()),
            "the trial does not serve pools with pipeline stages");
  s.options.layout.data_parallel_size = 2;
  EXPECT_EQ(serving_unsupported(s, some_requests()),
            "the trial does not serve data ranks of attention");
  EXPECT_EQ(serving_unsupported(scenario_of(small_moe(), 4, 2), some_requests()), "");
  Model wide = small_llama();
  wide.num_attention_heads = wide.num_query_groups = 16;
  const ServingObservation o = run_serving_trial(scenario_of(wide, 16), 1, some_requests(),
                                                 *machine().compute, *machine().world, {});
  EXPECT_EQ(o.failure,
            fmt::format("a replica needs 16 ranks, {} are here", machine().world->size()));
}

}  // namespace
}  // namespace meshwright::calibrate
