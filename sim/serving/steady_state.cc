// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/steady_state.h"

#include <algorithm>
#include <cmath>

namespace meshwright {
namespace {

constexpr int kIterations = 40;
constexpr double kConverged = 1e-4;                // of B
constexpr double kMostChunks = 64;                 // timed one by one; beyond, in larger pieces
constexpr Seconds kShortestWait = seconds(1e-15);  // a shorter one is none

// Rows that a step has left for prompts.
double prompt_budget(const ServingReplica& replica, double running) {
  const SchedulerRule& rule = replica.rule;
  const double decodes = rule.mixes ? running * (1.0 + replica.cost.drafts) : 0.0;
  return std::max(1.0, rule.token_budget - decodes);
}
// Prompts that a step holds: less than one where a prompt is cut.
double prompts_per_step_limit(const ServingReplica& replica, const MeanRequest& request,
                              double running) {
  const double each = prompt_budget(replica, running) / request.computed;
  return replica.rule.chunks ? each : std::max(1.0, std::floor(each));
}
double chunks_of(const ServingReplica& replica, const MeanRequest& request, double running) {
  if (!replica.rule.chunks) return 1.0;
  return std::ceil(request.computed / prompt_budget(replica, running) - 1e-9);
}

Seconds decode_duration(const ServingReplica& replica, double running, double context) {
  if (running <= 0.0) return {};
  const EngineStep step = decode_step(running, context);
  return step_duration(replica, step, step).duration;
}

// Prompts of which `each` begin in a step on a group. They lie on one group, or on all when there
// are as many; of several groups any prompt holds up all.
PromptsTogether prompts_together(const ServingReplica& replica, double each) {
  const double groups = replica.cost.data_ranks;
  const double fullest = std::max(1.0, each);
  double often = each / fullest;
  if (groups > 1 && often < 1.0) often = 1.0 - std::pow(1.0 - often, groups);
  return {fullest, fullest < groups ? fullest / groups : fullest, often};
}

struct Cycle {
  double prompts = 0;  // that begin in a step
  PromptsTogether together{};
  Seconds decode{}, added{}, step{};
};

// By how much more than a stage's share of it, P / s, a prompt that passes s stages holds up the
// streams: each for P. Its own stream waits for its pass, and the others' passes queue behind it on
// every stage. Passes with prompts overlap each other: where a share of them has prompts, so many
// of the others do not queue.
double stream_loss(const ServingReplica& replica, double share) {
  if (!steps_by_streams(replica)) return 1.0;
  return 1.0 + (replica.cost.stages - 1.0) * (1.0 - share * share);
}

// One mean step of a replica in which `running` sequences of each group decode. `others`: share of
// the prompts that are not a user's own, during which it does not decode.
Cycle cycle_at(const ServingReplica& replica, const MeanRequest& request, double running,
               double others = 1.0) {
  Cycle cycle;
  const double steps = decode_steps(replica, request);
  cycle.decode = decode_duration(replica, running, mean_context(request));
  cycle.prompts = steps > 0 ? running / steps : 0.0;
  cycle.together = prompts_together(replica, cycle.prompts);
  const double often = cycle.together.often;
  cycle.added = prompt_time(replica, request, running, cycle.together) *
                (often * others * stream_loss(replica, often));
  cycle.step = cycle.decode + cycle.added;
  return cycle;
}

// B at which prompts fill the budget of every step.
double prefill_limited(const ServingReplica& replica, const MeanRequest& request, double running) {
  const double steps = decode_steps(replica, request);
  if (!replica.rule.mixes || steps <= 0) return running;
  for (int i = 0; i < 8; ++i) {
    const double limit = prompts_per_step_limit(replica, request, running);
    if (running / steps <= limit) break;
    running = limit * steps;
  }
  return running;
}

// Steps that a prompt is held back on average. The first prompt opens a wait of W steps, in which r
// W more come, half of it from its end: (W + r W W / 2) / (1 + r W). W: until prompts fill the
// share of a step, at most the engine's limit.
// An engine that looks for requests every n decode steps holds each for (n - 1) / 2 of them.
double held_steps(const ServingReplica& replica, const MeanRequest& request, double running,
                  double prompts) {
  const PromptWait& wait = replica.rule.wait;
  if (wait.receive_interval > 1 && running >= 1.0) return (wait.receive_interval - 1) / 2.0;
  if (wait.iterations <= 0 || running < 1.0 || prompts <= 0.0) return 0.0;
  const double rows = wait.token_share * replica.rule.token_budget - running;
  const double filled = std::max(0.0, rows / request.computed - 1.0) / prompts;
  const double steps = std::min<double>(wait.iterations, filled);
  return (steps + prompts * steps * steps / 2.0) / (1.0 + prompts * steps);
}

// Time from its wait in the engine until a request's first token, room and others aside.
Seconds first_token_time(const ServingReplica& replica, const MeanRequest& request,
                         const Cycle& cycle, double running, bool closed) {
  const double chunks = chunks_of(replica, request, running);
  Seconds own = prompt_time(replica, request, running, cycle.together);
  // A stream's prompt passes all stages before it goes on.
  if (steps_by_streams(replica)) own *= static_cast<double>(replica.cost.stages);
  if (replica.rule.mixes) own += cycle.decode * chunks;
  if (replica.cost.stages > 1 && !steps_by_streams(replica)) {
    own += decode_duration(replica, std::max(1.0, running), mean_context(request)) * 0.5;
  }
  if (running <= 0.0) return own;
  // A user's next request comes when a step has just begun; others come within one, and meet long
  // steps more often than short ones: E[t^2] / (2 E[t]).
  Seconds residual = cycle.step;
  if (!closed && cycle.prompts < 1.0) {
    const double often = cycle.prompts;
    const PromptsTogether one = prompts_together(replica, 0.0);
    const Seconds mixed = cycle.decode + prompt_time(replica, request, running, one) / chunks;
    residual = (mixed * (mixed / cycle.step) * often +
                cycle.decode * (cycle.decode / cycle.step) * (1.0 - often)) *
               0.5;
  } else if (!closed) {
    residual = cycle.step * 0.5;
  }
  const Seconds composed = replica.rule.overlapped ? cycle.step : Seconds{};
  const Seconds held = cycle.decode * held_steps(replica, request, running, cycle.prompts);
  return own + residual + composed + held;
}

SteadyState state_of(const ServingReplica& replica, const MeanRequest& request, const Cycle& cycle,
                     double running, double room) {
  SteadyState state;
  const double tokens = std::max(1.0, request.output - 1.0);
  state.decode_step = cycle.decode;
  state.tpot = cycle.step * (decode_steps(replica, request) / tokens);
  state.running = running;
  state.room = room;
  state.prompts_per_step = cycle.prompts;
  state.prompt_share = cycle.step.value() > 0 ? cycle.added / cycle.step : 0.0;
  return state;
}

}  // namespace

double mean_context(const MeanRequest& request) { return request.input + request.output / 2.0; }

double decode_steps(const ServingReplica& replica, const MeanRequest& request) {
  return std::max(0.0, request.output - 1.0) / replica.rule.tokens_per_step;
}

MeanRequest mean_request(const ServingLoad& load, int block_size) {
  MeanRequest request;
  request.input = mean_input(load.lengths);
  request.output = mean_output(load.lengths);
  request.computed = computed_input(request.input, load.prefix_hit_rate, block_size);
  return request;
}

Seconds prompt_time(const ServingReplica& replica, const MeanRequest& request, double running,
                    const PromptsTogether& prompts) {
  const bool mixes = replica.rule.mixes && running > 0.0;
  const EngineStep decode = mixes ? decode_step(running, mean_context(request)) : EngineStep{};
  const Seconds alone = mixes ? step_duration(replica, decode, decode).duration : Seconds{};
  // An engine that cuts no prompt gives a longer one a step of its own.
  const double rows = prompt_budget(replica, mixes ? running : 0.0);
  const double budget = replica.rule.chunks ? rows : std::max(rows, request.computed);
  const double cached = request.input - request.computed;
  // Tokens of `fullest` prompts on the slowest group, behind `prior` ones.
  const auto added = [&](double fullest, double tokens, double prior) {
    const double mean = fullest * (prompts.mean / prompts.fullest);
    return step_duration(replica, decode + prefill_step(fullest, tokens, prior),
                         decode + prefill_step(mean, tokens, prior))
               .duration -
           alone;
  };
  if (request.computed <= budget) {
    const double most = std::max(1.0, budget / request.computed);
    return added(std::clamp(prompts.fullest, 1.0, most), request.computed, cached);
  }
  Seconds sum;
  const double chunk = std::max(budget, request.computed / kMostChunks);
  for (double done = 0; done < request.computed - 0.5; done += chunk) {
    const double tokens = std::min(chunk, request.computed - done);
    sum += added(1.0, tokens, cached + done) * (chunk / budget);
  }
  return sum;
}

Seconds unloaded_prefill(const ServingReplica& replica, const MeanRequest& request) {
  return prompt_time(replica, request, 0.0, prompts_together(replica, 0.0));
}

Seconds queue_wait(double servers, double utilization, Seconds service) {
  if (utilization <= 0.0) return {};
  const double power = std::sqrt(2.0 * (servers + 1.0)) - 1.0;
  const Seconds wait =
      service * (0.5 * std::pow(utilization, power) / (1.0 - utilization) / servers);
  return wait < kShortestWait ? Seconds{} : wait;
}

std::optional<SteadyState> closed_loop_state(const ServingReplica& replica,
                                             const MeanRequest& request, double users) {
  const double room = running_limit(replica, request.input, request.output);
  if (room < 1.0) return std::nullopt;
  const double groups = replica.cost.data_ranks;
  const double each = users / groups;
  const double active = std::min(each, room);
  const double steps = decode_steps(replica, request);
  const double others = 1.0 - 1.0 / std::max(1.0, active);
  double running = prefill_limited(replica, request, active * 0.9);
  Cycle cycle;
  Seconds first;
  for (int i = 0; i < kIterations; ++i) {
    // A user's own prompt meets the others' decodes, and its decodes the others' prompts.
    cycle = cycle_at(replica, request, running, others);
    first = first_token_time(replica, request, cycle, running * others, true);
    const Seconds decoding = cycle.step * steps;
    const double share = decoding / (decoding + first + replica.rule.host_time(request.input));
    const double next = prefill_limited(replica, request, active * share);
    const bool done = std::abs(next - running) <= kConverged * running;
    running = next;
    if (done) break;
  }
  cycle = cycle_at(replica, request, running, others);
  SteadyState state = state_of(replica, request, cycle, running, room);
  const Seconds decoding = cycle.step * steps;
  // Little's law on the decoding sequences, then on the users.
  const double rate = steps > 0 ? running / decoding.value()
                                : active / (first + replica.rule.host_time(request.input)).value();
  state.requests_per_second = rate * groups;
  state.e2e = seconds(each / rate);
  state.ttft = state.e2e - decoding;
  state.waiting = seconds(std::max(0.0, each - active) / rate);
  return state;
}

double largest_rate(const ServingReplica& replica, const MeanRequest& request) {
  const double room = running_limit(replica, request.input, request.output);
  const auto full = closed_loop_state(replica, request, room * replica.cost.data_ranks);
  return full ? full->requests_per_second : 0.0;
}

SteadyState open_loop_at(const ServingReplica& replica, const MeanRequest& request, double running,
                         double most) {
  const double room = running_limit(replica, request.input, request.output);
  const double groups = replica.cost.data_ranks;
  const double steps = decode_steps(replica, request);
  const Cycle cycle = cycle_at(replica, request, running);
  SteadyState state = state_of(replica, request, cycle, running, room);
  const Seconds first = first_token_time(replica, request, cycle, running, false);
  const Seconds decoding = cycle.step * steps;
  state.requests_per_second = groups * running / std::max(1e-12, decoding.value());
  const double full = most > 0 ? std::min(state.requests_per_second / most, 1.0 - 1e-9) : 0.0;
  state.waiting = queue_wait(room, full, first + decoding);
  state.ttft = replica.rule.host_time(request.input) + first + state.waiting;
  state.e2e = state.ttft + decoding;
  return state;
}

namespace {

constexpr int kHalvings = 30;

// The largest B below the room that `holds` accepts; it accepts all smaller ones.
template <typename Holds>
double largest_running(double room, Holds holds) {
  double low = 0.0, high = room;
  for (int i = 0; i < kHalvings && high - low > 1e-4 * high; ++i) {
    const double running = (low + high) / 2.0;
    (holds(running) ? low : high) = running;
  }
  return low;
}

}  // namespace

std::optional<SteadyState> open_loop_state(const ServingReplica& replica,
                                           const MeanRequest& request, double rate) {
  const double room = running_limit(replica, request.input, request.output);
  const double most = largest_rate(replica, request);
  if (room < 1.0 || rate >= most) return std::nullopt;
  const double groups = replica.cost.data_ranks;
  const double steps = decode_steps(replica, request);
  const double running = largest_running(room, [&](double b) {
    return groups * b < rate * steps * cycle_at(replica, request, b).step.value();
  });
  SteadyState state = open_loop_at(replica, request, running, most);
  state.requests_per_second = rate;
  return state;
}

bool meets(const SteadyState& state, const LatencyLimits& limits) {
  return (!limits.ttft || state.ttft <= *limits.ttft) &&
         (!limits.tpot || state.tpot <= *limits.tpot) && (!limits.e2e || state.e2e <= *limits.e2e);
}

std::optional<SteadyState> largest_rate_within(const ServingReplica& replica,
                                               const MeanRequest& request,
                                               const LatencyLimits& limits, double utilization) {
  const double room = running_limit(replica, request.input, request.output);
  if (room < 1.0) return std::nullopt;
  const double most = largest_rate(replica, request);
  const double running = largest_running(room, [&](double b) {
    const SteadyState state = open_loop_at(replica, request, b, most);
    return state.requests_per_second <= utilization * most && meets(state, limits);
  });
  if (running <= 1e-3) return std::nullopt;
  return open_loop_at(replica, request, running, most);
}

}  // namespace meshwright
