// SPDX-License-Identifier: Apache-2.0
// One replica as its load meets it: what a step costs, what the cache holds, and the rule by which
// the engine composes its steps.
#pragma once

#include <optional>

#include "sim/serving/memory.h"
#include "sim/serving/step.h"

namespace meshwright {

// Limits and habits of a scheduler, from the engine's file and the replica's options.
struct SchedulerRule {
  SchedulerOrder order = SchedulerOrder::decode_first;
  bool mixes = true;       // prompts and decodes share a step
  bool chunks = true;      // a prompt may be cut
  bool overlapped = true;  // a step is composed while the one before it runs
  FullCache full_cache = FullCache::recompute_newest;
  double token_budget = 8192;   // rows of a step
  double max_sequences = 1024;  // of one attention group
  int block_size = 16;
  bool prefix_caching = true;  // blocks that still hold a request's tokens are found
  bool by_priority = false;    // lower numbers first; the last of the highest is preempted
  bool whole_prompts = true;   // a prompt is admitted when its whole length has blocks
  int watermark_blocks = 0;    // blocks that an admission leaves free beside other requests
  int long_prompt = 0;         // tokens of a prompt in a step, at most, beside other requests
  Seconds request{};           // host time before a request waits in the engine
  Seconds input_token{};       // and of each token of its prompt
  [[nodiscard]] Seconds host_time(double input) const { return request + input_token * input; }
  double tokens_per_step = 1;  // of a sequence that decodes; more with speculation
  PromptWait wait{};
};
// Options with defaults. `acceptance`: share of drafts that the load's answers accept.
SchedulerRule scheduler_rule(const Engine& engine, const ReplicaOptions& options,
                             double acceptance = 0);

struct ServingReplica {
  ReplicaCost cost{};
  ReplicaMemory memory{};
  SchedulerRule rule{};
  int gpus = 1;
  std::optional<Seconds> step{};  // time of every step, in place of the predicted one
};
// Options with defaults. The layout obeys the rules.
ServingReplica serving_replica(const Model& model, const ServingCluster& cluster,
                               const Engine& engine, const ReplicaOptions& options,
                               double acceptance = 0);

// Share of the answer that a new request reserves in the cache: no_evict 1, retract 1/2 (SGLang's
// schedule-conservativeness shrinks from 0.7 to below), recompute_newest 0.
constexpr double reserved_share(FullCache rule) {
  return rule == FullCache::no_evict ? 1.0 : (rule == FullCache::retract ? 0.5 : 0.0);
}

// Requests of one attention group that run together in steady state: the cache over the blocks of a
// request at its mean (no_evict: whole) length, at most max_sequences.
double running_limit(const ServingReplica& replica, double input, double output);

// Tokens of full layers that an attention group's cache holds: whole blocks of kv_cache /
// full_token. Without a window a token is one of all layers. 1e18 where all layers have windows.
double cache_capacity(const ServingReplica& replica);
// Tokens of full layers that a request's windows and states are worth: ((blocks(W) + block) *
// window_token + state) / full_token. 0 without these, or where no layer keeps all tokens.
double window_equivalent_tokens(const ServingReplica& replica);

// One pass of a replica whose attention groups hold `slowest` at most and `mean` on average: groups
// wait for the slowest, and experts see the rows of all.
StepTime group_step_time(const ReplicaCost& cost, const EngineStep& slowest,
                         const EngineStep& mean);

// A step of so many decodes at this context, with prompts. Pipeline stages each take their share of
// the decodes; a prompt holds up the pipe for its longest stage.
//   duration = t(B / pp) + (t(B / pp, prompts) - t(B / pp)) / pp
struct StepDuration {
  Seconds duration{};      // until the next step
  Seconds prompt_delay{};  // from then until the prompt has passed all stages
};
StepDuration step_duration(const ServingReplica& replica, const EngineStep& slowest,
                           const EngineStep& mean);

// Whether each stage has a stream of requests of its own (replica_simulation.h).
inline bool steps_by_streams(const ServingReplica& replica) {
  return replica.cost.stages > 1 && replica.cost.data_ranks == 1;
}
// One stream's step, through all stages that wait for nobody.
Seconds pass_time(const ServingReplica& replica, const EngineStep& slowest, const EngineStep& mean);

}  // namespace meshwright
