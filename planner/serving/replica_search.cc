// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/replica_search.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "sim/serving/replica_cost.h"

namespace meshwright::planner {

std::vector<ReplicaLayout> replica_layouts(const ServingQuestion& q) {
  std::vector<ReplicaLayout> layouts;
  const ServingSpace& space = q.space;
  for (const int data : space.data) {
    for (const int stages : space.pipeline) {
      for (const int tensor : space.tensor) {
        const int gpus = tensor * stages * data;
        const int most = std::min(space.replica_gpus, q.gpus.value_or(q.max_gpus));
        if (gpus > most || gpus > q.scenario.cluster.num_gpus()) continue;
        const int ranks = tensor * data;
        layouts.push_back({tensor, stages, data, 1, 1});
        if (q.scenario.model.moe && space.expert_parallel && ranks > 1) {
          layouts.push_back({tensor, stages, data, ranks, 1});
        }
        // Context ranks in place of repeated heads.
        const int copies = static_cast<int>(kv_replication(q.scenario.model, layouts.back()));
        if (q.scenario.engine.decode_context_parallel && copies > 1 && tensor % copies == 0) {
          ReplicaLayout spread = layouts.back();
          spread.decode_context_parallel_size = copies;
          layouts.push_back(spread);
        }
      }
    }
  }
  return layouts;
}

LatencyLimits divided(const LatencyLimits& limits, double factor) {
  LatencyLimits scaled = limits;
  for (auto* one : {&scaled.ttft, &scaled.tpot, &scaled.e2e}) {
    if (*one) *one = **one / factor;
  }
  return scaled;
}

double aggregated_rate(const PoolCandidate& pool, const LatencyLimits& limits) {
  const auto state = largest_rate_within(*pool.replica, pool.request, limits, kMostUtilization);
  return state ? state->requests_per_second : 0.0;
}

namespace {

// Prompts a second of one prefill replica whose first token, with its wait, stays within the limit.
double prefill_rate_within(const PoolCandidate& pool, const LatencyLimits& limits,
                           Seconds transfer) {
  const double most = prefill_rate(*pool.replica, pool.request);
  const Seconds own = unloaded_prefill(*pool.replica, pool.request);
  double utilization = kMostUtilization;
  if (limits.ttft) {
    const Seconds left =
        *limits.ttft - own - transfer - pool.replica->rule.host_time(pool.request.input);
    if (left.value() <= 0.0) return 0.0;
    // M/D/1: wait = S rho / (2 (1 - rho)).
    const double waits = 2.0 * (left / own);
    utilization = std::min(utilization, waits / (1.0 + waits));
  }
  return utilization * most;
}

// Answers a second of one decode replica whose tokens stay within the limit. A prompt that is being
// moved takes room, and the links of a group carry one at a time.
double decode_rate_within(const PoolCandidate& pool, const LatencyLimits& limits, Seconds moving) {
  const ServingReplica& replica = *pool.replica;
  const double room = running_limit(replica, pool.request.input, pool.request.output);
  if (room < 1.0) return 0.0;
  const double tokens = std::max(1.0, pool.request.output - 1.0);
  const double steps = tokens / replica.rule.tokens_per_step;
  const double context = mean_context(pool.request);
  const auto step = [&](double running) {
    const EngineStep one = decode_step(running, context);
    return step_duration(replica, one, one).duration;
  };
  const auto within = [&](double running) {
    return !limits.tpot || step(running) * (steps / tokens) <= *limits.tpot;
  };
  double running = room * kMostUtilization;
  if (!within(running)) {
    if (!within(1.0)) return 0.0;
    double low = 1.0, high = running;
    for (int i = 0; i < 30; ++i) (within((low + high) / 2) ? low : high) = (low + high) / 2;
    running = low;
  }
  const double rate = running / (step(running).value() * steps);
  const double full = decode_rate(replica, pool.request, moving) / replica.cost.data_ranks;
  return std::min(rate, kMostUtilization * full) * replica.cost.data_ranks;
}

// max_model_len of a replica that serves this load: more than its longest request, in whole steps,
// at most the model's positions. Longer requests would need a cache that nothing was planned for.
int served_length(const ServingLoad& load, const Model& model) {
  constexpr int kStep = 256;
  const int length = (static_cast<int>(longest_request(load.lengths)) / kStep + 1) * kStep;
  const int most = model.max_position_embeddings;
  return most > 0 ? std::min(length, most) : length;
}

LayoutResult search_layout(const ServingQuestion& q, const ReplicaLayout& layout) {
  LayoutResult found;
  const ServingScenario& s = q.scenario;
  const Device& device = only_device(s.cluster);
  ReplicaOptions asked = s.options;
  asked.layout = layout;
  if (asked.max_model_len == 0) asked.max_model_len = served_length(q.load, s.model);
  ReplicaOptions options = asked;
  options = with_defaults(options, s.engine, device, s.model);
  found.options = options;
  const ServingRuleInput in{s.model, s.cluster, s.engine, options};
  if (const auto broken = check_replica(in)) {
    found.violation = broken;
    return found;
  }
  if (q.disaggregated)
    found.pool_violation = check_replica({s.model, s.cluster, s.engine, options, true});
  std::shared_ptr<const ServingReplica> first;
  for (const int sequences : q.space.max_num_seqs) {
    for (const int budget : q.space.token_budgets) {
      ReplicaOptions varied = asked;
      if (sequences > 0) varied.max_num_seqs = sequences;
      if (budget > 0) varied.max_num_batched_tokens = budget;
      varied = with_defaults(varied, s.engine, device, s.model);
      const ServingRuleInput one{s.model, s.cluster, s.engine, varied};
      auto broken = check_replica(one);
      const ReplicaMemory memory = replica_memory(s.model, device, s.engine, varied);
      if (!broken) {
        broken = check_replica_memory(one, memory, longest_request(q.load.lengths));
      }
      ++found.configurations;
      if (broken) {
        if (!found.violation) found.violation = broken;
        continue;
      }
      if (first == nullptr) {
        first = std::make_shared<const ServingReplica>(
            ServingReplica{replica_cost(s.model, s.cluster, s.engine, varied), memory,
                           scheduler_rule(s.engine, varied, q.load.acceptance), num_gpus(layout)});
      }
      auto replica = std::make_shared<ServingReplica>(*first);
      replica->memory = memory;
      replica->rule = scheduler_rule(s.engine, varied, q.load.acceptance);
      replica->cost.graph_most = graph_max_batch(s.engine, device, varied);
      const MeanRequest request = mean_request(q.load, replica->rule.block_size);
      PoolCandidate pool{varied, replica, request, 0, 0, 0};
      pool.rate = aggregated_rate(pool, q.limits);
      if (q.disaggregated) {
        // Between nodes, where there are some; a measured machine may be one.
        const bool apart = s.cluster.inter_node.bandwidth.value() > 0.0;
        const KvTransfer moved = pools_transfer(s.model, s.cluster, s.engine, varied, varied,
                                                s.cluster.gpus_per_node + (apart ? 1 : 0),
                                                request.input, layout.data_parallel_size);
        pool.prefill = prefill_rate_within(pool, q.limits, moved.time);
        pool.decode = decode_rate_within(pool, q.limits, moved.moving);
      }
      found.candidates.push_back(std::move(pool));
    }
  }
  // A variant that fits makes the layout valid.
  if (!found.candidates.empty()) found.violation.reset();
  return found;
}

}  // namespace

std::vector<LayoutResult> search_layouts(const ServingQuestion& q, bool parallel) {
  const std::vector<ReplicaLayout> layouts = replica_layouts(q);
  std::vector<LayoutResult> results(layouts.size());
  const auto one = [&](std::size_t i) { results[i] = search_layout(q, layouts[i]); };
  if (parallel) {
    tbb::parallel_for(std::size_t{0}, layouts.size(), one);
  } else {
    for (std::size_t i = 0; i < layouts.size(); ++i) one(i);
  }
  return results;
}

bool may_be_pool(const ServingSpace& space, const LayoutResult& result) {
  if (result.candidates.empty() || result.pool_violation) return false;
  const ReplicaLayout& layout = result.candidates.front().options.layout;
  return space.stages_in_pools || layout.pipeline_parallel_size == 1;
}

const PoolCandidate* best_variant(const LayoutResult& result, double PoolCandidate::*rate) {
  const PoolCandidate* best = nullptr;
  for (const PoolCandidate& one : result.candidates) {
    if (best == nullptr || one.*rate > best->*rate) best = &one;
  }
  return best;
}

}  // namespace meshwright::planner
