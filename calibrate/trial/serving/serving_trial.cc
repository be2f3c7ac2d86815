// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/serving_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/trial/ranks/await_all.h"
#include "calibrate/trial/serving/pool_flow.h"
#include "calibrate/trial/serving/serving_engine.h"
#include "calibrate/trial/serving/serving_results.h"
#include "calibrate/trial/trial.h"
#include "sim/serving/memory.h"

namespace meshwright::calibrate {
namespace {

std::string not_served(const char* what) {
  return fmt::format("the trial does not serve {}", what);
}

bool serves_on_cores(const Compute& compute) {
  return compute.describe().device_kind() == DeviceKind::cpu;
}

// Some requests at once, so that libraries have prepared their products.
ServingLoad warmup_of(const ServingLoad& load, int requests) {
  ServingLoad warmup;
  warmup.kind = LoadKind::all_at_once;
  warmup.num_requests = requests;
  warmup.lengths.input = std::max(1, static_cast<int>(mean_input(load.lengths)));
  warmup.lengths.output = std::max(1, static_cast<int>(mean_output(load.lengths)));
  return warmup;
}

std::string lacks_room(const ServingScenario& scenario, const ServingLoad& load,
                       std::int64_t kv_blocks) {
  const double tokens = longest_request(load.lengths);
  const double room = static_cast<double>(kv_blocks) * scenario.options.block_size;
  if (in_blocks(tokens, scenario.options.block_size) > room) {
    return fmt::format("the cache holds {} tokens, and a request has up to {}", room, tokens);
  }
  return "";
}

// Weights and cache as they are held, in fp32.
std::string holds_too_much(const ServingScenario& scenario, std::int64_t kv_blocks,
                           const Compute& compute, Communicator& world) {
  const Bytes weights = replica_weights(scenario.model, scenario.options).total() * 2.0;
  // Of the stage with most layers; all of them are cached whole.
  const int stages = scenario.options.layout.pipeline_parallel_size;
  const int layers = replica_stage_layers(scenario.model.num_layers, stages, stages - 1).count;
  const Bytes cache = kv_rank_layer_bytes(scenario.model, scenario.options) * 2.0 *
                      static_cast<double>(layers) *
                      static_cast<double>(kv_blocks * scenario.options.block_size);
  const Bytes free = bytes(-world.host_max(-compute.describe().free_memory.value()));
  const Bytes needed = weights + cache;
  if (needed <= free || free <= bytes(0)) return "";
  return fmt::format("needs {:.2f} GiB a rank (held in fp32), {:.2f} GiB are free",
                     in_gibibytes(needed), in_gibibytes(free));
}

// What is the same of every run, before it has run.
ServingObservation described(const ServingScenario& scenario, int replicas, const ServingLoad& load,
                             const Compute& compute, const ServingTrialOptions& options) {
  ServingObservation o;
  o.options = scenario.options;
  o.replicas = replicas;
  o.device = compute.describe().kind;
  o.precision =
      options.precision.value_or(serves_on_cores(compute) ? Precision::fp32 : Precision::bf16);
  o.kv_blocks = served_blocks(scenario, replicas, load);
  return o;
}

void note_precision(ServingObservation& o) {
  if (o.precision == Precision::bf16) return;
  o.not_run.push_back(fmt::format("bf16 ({} was run)", name_of(o.precision)));
}

ServingModelOptions model_of(const ServingScenario& scenario, const ServingLoad& load,
                             std::int64_t kv_blocks, Precision precision, std::uint64_t seed) {
  return {.blocks = kv_blocks,
          .block_size = scenario.options.block_size,
          .longest = static_cast<std::int64_t>(longest_request(load.lengths)),
          .precision = precision,
          .seed = seed};
}

// A load through both pools; collective over their ranks. Its hand-overs on a decode rank.
std::vector<ObservedHandover> serve_in_pools(ServingEngine& engine, const PoolRun& run) {
  const PoolPlace place = run.sizes.place(run.pools.rank());
  const int replicas = place.prefill ? run.sizes.prefill_replicas : run.sizes.decode_replicas;
  const ServedShare share{static_cast<std::size_t>(place.replica),
                          static_cast<std::size_t>(replicas)};
  if (place.prefill) {
    PrefillFlow flow(run);
    engine.run(run.load, share, &flow);
    flow.finish();
    return {};
  }
  DecodeFlow flow(run);
  engine.run(run.load, share, &flow);
  flow.finish();
  return flow.handovers();
}

}  // namespace

std::string serving_unsupported(const ServingScenario& scenario, const ServingLoad& load) {
  const ReplicaOptions& o = scenario.options;
  if (scenario.model.mla && scenario.model.mla->dsa_indexer_n_heads > 0) {
    return not_served("sparse attention");
  }
  if (o.layout.data_parallel_size > 1) return not_served("data ranks of attention");
  if (o.layout.decode_context_parallel_size > 1) return not_served("decode context ranks");
  if (o.num_speculative_tokens > 0) return not_served("drafts");
  if (o.weights.format != WeightFormat::bf16) return not_served("quantized weights");
  if (o.kv_cache != KvCacheFormat::bf16) return not_served("a quantized cache");
  if (load.prefix_hit_rate > 0.0) return not_served("cached prefixes");
  Job job;
  job.seq_length = static_cast<int>(longest_request(load.lengths));
  Layout ranks;
  ranks.tensor_parallel_size = o.layout.tensor_parallel_size;
  // Rules of training's experts do not hold here: the plan's rules have seen to them.
  Model dense = scenario.model;
  if (dense.moe && dense.ffn_hidden_size == 0)
    dense.ffn_hidden_size = dense.moe->moe_ffn_hidden_size;
  dense.moe.reset();
  return inference_unsupported(dense, job, ranks, 0);
}

std::int64_t served_blocks(const ServingScenario& scenario, int replicas, const ServingLoad& load) {
  const ReplicaOptions& options = scenario.options;
  const ReplicaMemory memory =
      replica_memory(scenario.model, only_device(scenario.cluster), scenario.engine, options);
  double requests = simulated_requests(load);
  if (load.kind == LoadKind::closed_loop) {
    requests = std::min(requests, std::ceil(load.concurrency / replicas));
  }
  if (options.max_num_seqs > 0) requests = std::min<double>(requests, options.max_num_seqs);
  const double each = std::ceil((longest_request(load.lengths) + 1.0) / options.block_size);
  return static_cast<std::int64_t>(std::min(memory.kv_blocks, requests * each));
}

ServingObservation run_serving_trial(const ServingScenario& scenario, int replicas,
                                     const ServingLoad& load, Compute& compute, Communicator& world,
                                     const ServingTrialOptions& options) {
  const int size = num_gpus(scenario.options.layout);
  ServingObservation o = described(scenario, replicas, load, compute, options);
  o.failure = serving_unsupported(scenario, load);
  if (o.failure.empty() && size > world.size()) {
    o.failure = fmt::format("a replica needs {} ranks, {} are here", size, world.size());
  }
  if (o.failure.empty() && scenario.options.layout.pipeline_parallel_size > 1 &&
      !serves_stages(world)) {
    o.failure = "the trial runs pipeline stages of a service between cores only";
  }
  if (o.failure.empty()) o.failure = lacks_room(scenario, load, o.kv_blocks);
  if (o.failure.empty()) o.failure = holds_too_much(scenario, o.kv_blocks, compute, world);
  if (!o.failure.empty()) return o;
  o.run_replicas = std::min(replicas, world.size() / size);
  o.ranks = o.run_replicas * size;
  if (o.run_replicas < replicas) {
    o.not_run.push_back(fmt::format("{} replicas: {} were run, each with its own requests",
                                    replicas, o.run_replicas));
  }
  note_precision(o);

  const int replica = world.rank() / size;
  const bool takes_part = replica < o.run_replicas;
  const auto ranks = world.split(takes_part ? replica : o.run_replicas, world.rank());
  std::optional<ServingEngine> engine;
  if (takes_part) {
    engine.emplace(scenario, compute, *ranks,
                   model_of(scenario, load, o.kv_blocks, o.precision, options.seed));
    if (options.warmup_requests > 0) engine->run(warmup_of(load, options.warmup_requests));
  }
  await_all(world);
  if (takes_part) {
    engine->run(load, {static_cast<std::size_t>(replica), static_cast<std::size_t>(replicas)});
  }
  await_all(world);
  o.peak_memory = bytes(world.host_max(engine ? engine->model().peak_memory().value() : 0.0));
  o.kv_cache = bytes(world.host_max(engine ? engine->model().cache_size().value() : 0.0));
  if (engine) o.transfers = engine->transfers();
  const ServingEngine* first = engine && ranks->rank() == 0 ? &*engine : nullptr;
  gather_requests(first, world, o);
  gather_steps(first, replica, world, o);
  return o;
}

std::string pools_unsupported(const ServingScenario& decode, const ReplicaOptions& prefill,
                              const ServingLoad& load) {
  for (const ReplicaLayout& layout : {prefill.layout, decode.options.layout}) {
    if (layout.pipeline_parallel_size > 1) return not_served("pools with pipeline stages");
  }
  ServingScenario first = decode;
  first.options = prefill;
  const std::string reason = serving_unsupported(first, load);
  return reason.empty() ? serving_unsupported(decode, load) : reason;
}

ServingObservation run_pools_trial(const ServingScenario& decode, const ServedPools& pools,
                                   const ServingLoad& load, Compute& compute, Communicator& world,
                                   const ServingTrialOptions& options) {
  ServingScenario prefill = decode;
  prefill.options = pools.prefill;
  const PoolSizes sizes{.prefill_replicas = pools.prefill_replicas,
                        .prefill_ranks = num_gpus(pools.prefill.layout),
                        .decode_replicas = pools.decode_replicas,
                        .decode_ranks = num_gpus(decode.options.layout)};
  ServingObservation o = described(decode, pools.decode_replicas, load, compute, options);
  o.prefill = ServedPrefillPool{pools.prefill, pools.prefill_replicas,
                                served_blocks(prefill, pools.prefill_replicas, load)};
  o.failure = pools_unsupported(decode, pools.prefill, load);
  if (o.failure.empty() && sizes.ranks() > world.size()) {
    o.failure = fmt::format("both pools need {} ranks, {} are here", sizes.ranks(), world.size());
  }
  if (o.failure.empty() && !world.receives_alone()) {
    o.failure = "the trial hands caches over between cores only";
  }
  if (o.failure.empty()) o.failure = lacks_room(decode, load, o.kv_blocks);
  if (o.failure.empty()) o.failure = lacks_room(prefill, load, o.prefill->kv_blocks);
  if (o.failure.empty()) o.failure = holds_too_much(decode, o.kv_blocks, compute, world);
  if (o.failure.empty()) o.failure = holds_too_much(prefill, o.prefill->kv_blocks, compute, world);
  if (!o.failure.empty()) return o;
  o.run_replicas = pools.decode_replicas;
  o.ranks = sizes.ranks();
  note_precision(o);

  const bool takes_part = world.rank() < sizes.ranks();
  const auto members = world.split(takes_part ? 0 : 1, world.rank());
  const PoolPlace place = takes_part ? sizes.place(world.rank()) : PoolPlace{};
  const int number = place.prefill ? place.replica : pools.prefill_replicas + place.replica;
  const auto replica = members->split(number, members->rank());
  std::optional<ServingEngine> engine;
  std::vector<ObservedHandover> handovers;
  const auto serve = [&](const ServingLoad& some) {
    return serve_in_pools(*engine,
                          {sizes, some, decode.options, *members, *replica, engine->model()});
  };
  if (takes_part) {
    const std::int64_t blocks = place.prefill ? o.prefill->kv_blocks : o.kv_blocks;
    const ServingScenario& own = place.prefill ? prefill : decode;
    engine.emplace(own, compute, *replica, model_of(own, load, blocks, o.precision, options.seed));
    const int warmup = options.warmup_requests * sizes.replicas();
    if (warmup > 0) (void)serve(warmup_of(load, warmup));
  }
  await_all(world);
  if (takes_part) handovers = serve(load);
  await_all(world);
  o.peak_memory = bytes(world.host_max(engine ? engine->model().peak_memory().value() : 0.0));
  o.kv_cache = bytes(world.host_max(engine ? engine->model().cache_size().value() : 0.0));
  if (engine) o.transfers = engine->transfers();
  const ServingEngine* first = engine && place.rank == 0 ? &*engine : nullptr;
  if (first == nullptr) handovers.clear();
  gather_requests(place.prefill ? nullptr : first, world, o);
  gather_steps(first, number, world, o);
  gather_handovers(handovers, world, o);
  return o;
}

}  // namespace meshwright::calibrate
