// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/scheduler.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/experts_touched.h"
#include "sim/serving/replica_cost.h"

namespace meshwright {

SchedulerRule scheduler_rule(const Engine& engine, const ReplicaOptions& options,
                             double acceptance) {
  SchedulerRule rule;
  rule.order = engine.order;
  rule.mixes = engine.mixes_prefill_and_decode;
  rule.chunks = engine.chunked_prefill;
  rule.overlapped = engine.host.overlapped;
  rule.full_cache = engine.full_cache;
  rule.token_budget = step_tokens(engine, options);
  rule.max_sequences = options.max_num_seqs > 0 ? options.max_num_seqs : 1e9;
  rule.block_size = options.block_size;
  rule.prefix_caching = engine.prefix_caching;
  rule.request = engine.host.request;
  rule.input_token = engine.host.input_token;
  rule.tokens_per_step = accepted_length(options.num_speculative_tokens, acceptance);
  rule.wait = options.prompt_wait;
  return rule;
}

ServingReplica serving_replica(const Model& model, const ServingCluster& cluster,
                               const Engine& engine, const ReplicaOptions& options,
                               double acceptance) {
  return {replica_cost(model, cluster, engine, options),
          replica_memory(model, only_device(cluster), engine, options),
          scheduler_rule(engine, options, acceptance), num_gpus(options.layout)};
}

double running_limit(const ServingReplica& replica, double input, double output) {
  const double share = replica.rule.full_cache == FullCache::no_evict ? 1.0 : 0.5;
  const double each = std::floor(replica.memory.requests_of(input + share * output));
  return std::min(each, replica.rule.max_sequences);
}

namespace {

double tokens_that_fit(const ServingReplica& replica) {
  const SequenceCache& sequence = replica.memory.sequence;
  const Bytes token = sequence.full_token + sequence.window_token;
  // One block of a pool that groups share holds nothing (vLLM v1/core/block_pool.py, null_block).
  const Bytes cache = replica.memory.kv_cache - sequence.groups.block;
  if (sequence.window <= 0.0) return cache / token;
  // A window's layers keep W tokens and a block; a request of many tokens is mostly full layers.
  return sequence.full_token.value() > 0 ? cache / sequence.full_token : 1e18;
}

}  // namespace

double cache_capacity(const ServingReplica& replica) {
  const double block = replica.rule.block_size;
  return std::floor(tokens_that_fit(replica) / block) * block;
}

double window_equivalent_tokens(const ServingReplica& replica) {
  const SequenceCache& sequence = replica.memory.sequence;
  if (sequence.full_token.value() <= 0.0) return 0.0;
  const double states = sequence.state / sequence.full_token;
  if (sequence.window <= 0.0) return states;
  const double kept = in_blocks(sequence.window, sequence.block_size) + sequence.block_size;
  return sequence.window_token * kept / sequence.full_token + states;
}

StepTime group_step_time(const ReplicaCost& cost, const EngineStep& slowest,
                         const EngineStep& mean) {
  StepTime time = step_time(cost, slowest);
  if (cost.data_ranks == 1) return time;
  const StepTime all = step_time(cost, mean);
  for (const StepTerm term : {StepTerm::experts, StepTerm::exchange}) {
    const auto i = static_cast<std::size_t>(term);
    time.total += all.terms[i] - time.terms[i];
    time.terms[i] = all.terms[i];
  }
  time.interval = time.total / static_cast<double>(cost.stages);
  return time;
}

namespace {

EngineStep of_one_stage(EngineStep step, double stages) {
  step.decode_sequences /= stages;
  step.decode_context /= stages;
  return step;
}
EngineStep without_prompts(const EngineStep& step) {
  return {step.decode_sequences, step.decode_context, 0, 0, 0};
}

}  // namespace

Seconds pass_time(const ServingReplica& replica, const EngineStep& slowest,
                  const EngineStep& mean) {
  return replica.step ? *replica.step : group_step_time(replica.cost, slowest, mean).total;
}

StepDuration step_duration(const ServingReplica& replica, const EngineStep& slowest,
                           const EngineStep& mean) {
  const ReplicaCost& cost = replica.cost;
  if (replica.step) return {*replica.step, {}};
  if (cost.stages == 1) return {group_step_time(cost, slowest, mean).total, {}};
  const double stages = cost.stages;
  const EngineStep a = of_one_stage(slowest, stages), b = of_one_stage(mean, stages);
  const Seconds whole = group_step_time(cost, a, b).total;
  if (slowest.prefill_tokens == 0) return {whole, {}};
  Seconds decode;
  if (slowest.decode_sequences > 0) {
    decode = group_step_time(cost, without_prompts(a), without_prompts(b)).total;
  }
  const Seconds duration = decode + (whole - decode) / stages;
  return {duration, whole - duration};
}

}  // namespace meshwright
