// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/serving_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/trial/serving/serving_engine.h"
#include "calibrate/trial/trial.h"
#include "sim/serving/memory.h"

namespace meshwright::calibrate {
namespace {

// Rows of numbers that the first rank of each replica has, from all of them on every rank: replica
// by replica. Collective over `world`.
using NumberRows = std::vector<std::vector<double>>;
NumberRows rows_of_replicas(Communicator& world, const NumberRows& own, std::size_t width) {
  const auto most = static_cast<std::size_t>(world.host_max(static_cast<double>(own.size())));
  std::vector<double> padded(most * width + 1, 0.0);
  padded[0] = static_cast<double>(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    std::copy(own[i].begin(), own[i].end(),
              padded.begin() + static_cast<std::ptrdiff_t>(1 + i * width));
  }
  std::vector<double> all(padded.size() * static_cast<std::size_t>(world.size()));
  world.host_gather(padded.data(), all.data(), padded.size() * sizeof(double));
  NumberRows rows;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world.size()); ++rank) {
    const double* of_rank = all.data() + rank * padded.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(of_rank[0]); ++i) {
      rows.emplace_back(of_rank + 1 + i * width, of_rank + 1 + (i + 1) * width);
    }
  }
  return rows;
}

void gather_requests(const ServingEngine* engine, Communicator& world, ServingObservation& o) {
  NumberRows own;
  for (std::size_t i = 0; engine != nullptr && i < engine->requests().size(); ++i) {
    const RequestTiming& t = engine->observed().requests[i];
    own.push_back({static_cast<double>(engine->requests()[i]), t.arrival.value(),
                   t.first_token.value(), t.end.value(), static_cast<double>(t.input),
                   static_cast<double>(t.output)});
  }
  NumberRows all = rows_of_replicas(world, own, 6);
  std::sort(all.begin(), all.end());
  for (const std::vector<double>& row : all) {
    o.requests.push_back(static_cast<int>(row[0]));
    RequestTiming t;
    t.arrival = seconds(row[1]);
    t.first_token = seconds(row[2]);
    t.end = seconds(row[3]);
    t.input = static_cast<int>(row[4]);
    t.output = static_cast<int>(row[5]);
    o.run.requests.push_back(t);
    o.run.duration = std::max(o.run.duration, t.end);
  }
  own.clear();
  if (engine != nullptr) {
    for (const TokenGap& gap : engine->observed().gaps) own.push_back({gap.gap.value()});
  }
  for (const std::vector<double>& row : rows_of_replicas(world, own, 1)) {
    o.run.gaps.push_back({seconds(row[0]), 1.0});
  }
}

void gather_steps(const ServingEngine* engine, int replica, Communicator& world,
                  ServingObservation& o) {
  NumberRows own;
  if (engine != nullptr) {
    for (const ObservedServingStep& s : engine->steps()) {
      own.push_back({static_cast<double>(replica), s.begin.value(), s.time.value(),
                     s.step.decode_sequences, s.step.decode_context, s.step.prefill_tokens,
                     s.step.prefill_sequences, s.step.prefill_pairs, s.kv_blocks, s.sent.value(),
                     s.bytes_as_said ? 1.0 : 0.0});
    }
  }
  for (const std::vector<double>& row : rows_of_replicas(world, own, 11)) {
    ObservedServingStep s;
    s.replica = static_cast<int>(row[0]);
    s.begin = seconds(row[1]);
    s.time = seconds(row[2]);
    s.step = {row[3], row[4], row[5], row[6], row[7]};
    s.kv_blocks = row[8];
    s.sent = bytes(row[9]);
    s.bytes_as_said = row[10] != 0.0;
    o.steps.push_back(s);
  }
  own.clear();
  if (engine != nullptr) {
    const ServingRun& run = engine->observed();
    own.push_back({static_cast<double>(run.steps), static_cast<double>(run.preemptions),
                   run.busy_share * run.duration.value()});
  }
  Seconds busy;
  for (const std::vector<double>& row : rows_of_replicas(world, own, 3)) {
    o.run.steps += static_cast<std::int64_t>(row[0]);
    o.run.preemptions += static_cast<std::int64_t>(row[1]);
    busy += seconds(row[2]);
  }
  o.run.busy_share = busy / (o.run.duration * static_cast<double>(o.run_replicas));
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
                       const ServingObservation& o, int ranks) {
  const int needed = num_gpus(scenario.options.layout);
  if (needed > ranks) {
    return fmt::format("a replica needs {} ranks, {} are here", needed, ranks);
  }
  const double tokens = longest_request(load.lengths);
  const double room = static_cast<double>(o.kv_blocks) * scenario.options.block_size;
  if (in_blocks(tokens, scenario.options.block_size) > room) {
    return fmt::format("the cache holds {} tokens, and a request has up to {}", room, tokens);
  }
  return "";
}

// Weights and cache as they are held, in fp32.
std::string holds_too_much(const ServingScenario& scenario, const ServingObservation& o,
                           const Compute& compute, Communicator& world) {
  const Bytes weights = replica_weights(scenario.model, scenario.options).total() * 2.0;
  const Bytes cache = kv_rank_layer_bytes(scenario.model, scenario.options) * 2.0 *
                      static_cast<double>(scenario.model.num_layers) *
                      static_cast<double>(o.kv_blocks * scenario.options.block_size);
  const Bytes free = bytes(-world.host_max(-compute.describe().free_memory.value()));
  const Bytes needed = weights + cache;
  if (needed <= free || free <= bytes(0)) return "";
  return fmt::format("needs {:.2f} GiB a rank (held in fp32), {:.2f} GiB are free",
                     in_gibibytes(needed), in_gibibytes(free));
}

}  // namespace

std::string serving_unsupported(const ServingScenario& scenario, const ServingLoad& load) {
  const ReplicaOptions& o = scenario.options;
  const auto not_served = [](const char* what) {
    return fmt::format("the trial does not serve {}", what);
  };
  if (scenario.model.mla && scenario.model.mla->dsa_indexer_n_heads > 0) {
    return not_served("sparse attention");
  }
  if (o.layout.pipeline_parallel_size > 1) return not_served("pipeline stages");
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
  ServingObservation o;
  o.options = scenario.options;
  o.replicas = replicas;
  o.device = compute.describe().kind;
  o.precision =
      options.precision.value_or(serves_on_cores(compute) ? Precision::fp32 : Precision::bf16);
  o.kv_blocks = served_blocks(scenario, replicas, load);
  o.failure = serving_unsupported(scenario, load);
  if (o.failure.empty()) o.failure = lacks_room(scenario, load, o, world.size());
  if (o.failure.empty()) o.failure = holds_too_much(scenario, o, compute, world);
  if (!o.failure.empty()) return o;
  o.run_replicas = std::min(replicas, world.size() / size);
  o.ranks = o.run_replicas * size;
  if (o.run_replicas < replicas) {
    o.not_run.push_back(fmt::format("{} replicas: {} were run, each with its own requests",
                                    replicas, o.run_replicas));
  }
  if (o.precision != Precision::bf16) {
    o.not_run.push_back(fmt::format("bf16 ({} was run)", name_of(o.precision)));
  }

  const int replica = world.rank() / size;
  const bool takes_part = replica < o.run_replicas;
  const auto ranks = world.split(takes_part ? replica : o.run_replicas, world.rank());
  std::optional<ServingEngine> engine;
  if (takes_part) {
    const ServingModelOptions model{
        .blocks = o.kv_blocks,
        .block_size = scenario.options.block_size,
        .longest = static_cast<std::int64_t>(longest_request(load.lengths)),
        .precision = o.precision,
        .seed = options.seed};
    engine.emplace(scenario, compute, *ranks, model);
    if (options.warmup_requests > 0) engine->run(warmup_of(load, options.warmup_requests));
  }
  world.barrier();
  if (takes_part) {
    engine->run(load, {static_cast<std::size_t>(replica), static_cast<std::size_t>(replicas)});
  }
  world.barrier();
  o.peak_memory = bytes(world.host_max(engine ? engine->model().peak_memory().value() : 0.0));
  o.kv_cache = bytes(world.host_max(engine ? engine->model().cache_size().value() : 0.0));
  if (engine) o.transfers = engine->transfers();
  const ServingEngine* first = engine && ranks->rank() == 0 ? &*engine : nullptr;
  gather_requests(first, world, o);
  gather_steps(first, replica, world, o);
  return o;
}

}  // namespace meshwright::calibrate
