// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/replica_simulation.h"

#include <algorithm>
#include <cmath>

namespace meshwright {
namespace {

constexpr double kMostStepsAlike = 1e9;

}  // namespace

ReplicaSimulation::ReplicaSimulation(const ServingReplica& replica, ServingRun& run)
    : replica_(replica),
      rule_(replica.rule),
      has_streams_(steps_by_streams(replica)),
      run_(run),
      groups_(
          static_cast<std::size_t>(has_streams_ ? replica.cost.stages : replica.cost.data_ranks)),
      capacity_(cache_capacity(replica)),
      windows_(window_equivalent_tokens(replica)),
      prefixes_(has_streams_ ? 1 : groups_.size(),
                CachedPrefixes(capacity_ / replica.rule.block_size)),
      stage_free_(static_cast<std::size_t>(replica.cost.stages)) {}

void ReplicaSimulation::enqueue(const QueuedRequest& request) {
  // Data ranks and streams are balanced by the number of their requests.
  std::size_t best = next_group_;
  if (groups_.size() > 1) {
    const auto load = [](const Group& g) {
      return g.waiting.size() + g.arriving.size() + g.prompts.size() + g.running.size();
    };
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::size_t at = (next_group_ + i) % groups_.size();
      if (load(groups_[at]) < load(groups_[best])) best = at;
    }
    next_group_ = (best + 1) % groups_.size();
  }
  std::deque<QueuedRequest>& waiting = groups_[best].waiting;
  follows_prefixes_ = follows_prefixes_ || request.prefix.shared > 0;
  const auto behind = std::find_if(waiting.rbegin(), waiting.rend(), [&](const auto& one) {
    return !rule_.by_priority || one.priority <= request.priority;
  });
  waiting.insert(behind.base(), request);
}

std::optional<Seconds> ReplicaSimulation::start_of(const Group& group, Seconds clock) const {
  if (!group.running.empty() || !group.prompts.empty()) return clock;
  std::optional<Seconds> start;
  const auto may = [&](Seconds when) {
    when = std::max(clock, when);
    start = start ? std::min(*start, when) : when;
  };
  if (!group.arriving.empty()) may(group.arriving.front().there);
  if (group.waiting.empty()) return start;
  // Beside prompts that are still on their way, and beside other streams, there may be no room for
  // the next one.
  const QueuedRequest& next = group.waiting.front();
  const bool alone = group.arriving.empty() && !has_streams_;
  const bool room = alone || has_room(group, next, next.input - next.computed, rule_.token_budget);
  if (room) may(next.enqueued);
  return start;
}

std::optional<Seconds> ReplicaSimulation::next_start() const {
  std::optional<Seconds> first;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    std::optional<Seconds> own = has_streams_ ? next_start(i) : start_of(groups_[i], clock_);
    if (groups_[i].pass) own = groups_[i].pass->end;
    if (own && (!first || *own < *first)) first = own;
  }
  return first;
}

std::vector<int> ReplicaSimulation::decodes_of(std::size_t group) const {
  std::vector<int> requests;
  if (groups_[group].step.decode_sequences == 0.0) return requests;
  for (const Running& one : groups_[group].running) {
    if (one.missing < rule_.tokens_per_step) requests.push_back(one.request.index);
  }
  return requests;
}

// Prompts that were computed elsewhere and have room here set out, one after the other.
void ReplicaSimulation::fetch(Group& group, Seconds start) {
  group.fetched.clear();
  while (!group.waiting.empty()) {
    QueuedRequest next = group.waiting.front();
    const double budget = rule_.token_budget;
    if (!next.moved || next.enqueued > start || !has_room(group, next, 0.0, budget)) return;
    take_in(group, next);
    group.cached += next.input;
    group.links_free = std::max(group.links_free, start) + next.moving;
    group.arriving.push_back({next, group.links_free});
    group.fetched.push_back(next.index);
    group.waiting.pop_front();
  }
}

void ReplicaSimulation::arrive(int index, Seconds when) {
  for (Group& group : groups_) {
    for (Arriving& one : group.arriving) {
      if (one.request.index == index) one.there = when;
    }
  }
}

void ReplicaSimulation::begin_arrived(Group& group, Seconds decision) {
  while (!group.arriving.empty() && group.arriving.front().there <= decision) {
    Arriving one = group.arriving.front();
    group.arriving.pop_front();
    first_tokens_.push_back({one.request.index, one.there});
    one.request.has_first = true;
    one.request.moved = false;  // thrown out, it is computed again here
    start_decoding(group, one.request, one.there);
  }
}

void ReplicaSimulation::take_prompts(Group& group, double budget, Seconds decision) {
  std::size_t at = 0;
  while (budget >= 1.0) {
    if (at == group.prompts.size() && !admit(group, budget, decision)) return;
    Prompt& prompt = group.prompts[at];
    const double left = prompt.left();
    double take = rule_.chunks ? std::min(left, budget) : left;
    const auto waiting = static_cast<double>(group.waiting.size());
    if (rule_.long_prompt > 0 && requests_in(group) + waiting > 1.0) {
      take = std::min<double>(take, rule_.long_prompt);
    }
    const double cached = prompt.cached();
    const double beside = held(cached + take) - held(cached);
    if (evicts_prompts() && !fits(group, replica_.cost.drafts, beside)) {
      preempt_prompt(group);
      continue;
    }
    if (take > 0.0) {
      group.step = group.step + prefill_step(1, take, cached);
      group.parts.push_back({prompt.request.index, cached, take, take >= left});
    }
    prompt.done += take;
    group.cached += take;
    group.unfilled -= take;
    if (follows_prefixes_) {
      const double whole = std::floor(prompt.cached() / rule_.block_size);
      prefixes_of(group).fill(prompt.request.prefix, whole);
      follow_prefixes(group, replica_.cost.drafts);
    }
    budget -= take;
    if (take >= left) group.finished.push_back(at);
    ++at;
  }
}

bool ReplicaSimulation::any_waits(const Group& group, Seconds decision) const {
  return !group.prompts.empty() ||
         (!group.waiting.empty() && group.waiting.front().enqueued <= decision);
}

// Prompts that would fill too little of a step wait while others decode.
bool ReplicaSimulation::waits_for_more(const Group& group, Seconds decision) const {
  if (group.running.empty() || group.held >= rule_.wait.iterations) return false;
  double rows = static_cast<double>(group.running.size());
  const double enough = rule_.wait.token_share * rule_.token_budget;
  for (const Prompt& one : group.prompts) rows += one.left();
  for (const QueuedRequest& one : group.waiting) {
    if (one.enqueued > decision || rows >= enough) break;
    rows += one.computed;
  }
  return rows < enough;
}

// SGLang looks for new requests behind every so many decode steps, behind a step with prompts, and
// while it is idle (managers/scheduler_recv_skipper.py).
Seconds ReplicaSimulation::seen_until(Seconds decision, bool idle) {
  const int interval = rule_.wait.receive_interval;
  const bool decodes = std::any_of(groups_.begin(), groups_.end(),
                                   [](const Group& group) { return !group.running.empty(); });
  if (interval > 1 && decodes && !idle && !had_prompts_) {
    blind_steps_ = std::fmod(blind_steps_, interval);
    if (blind_steps_ > 0.0) return std::min(decision, last_look_);
  }
  blind_steps_ = 0.0;
  last_look_ = decision;
  return decision;
}

// Prompts of some data ranks wait for those of the others, and then a little for more.
bool ReplicaSimulation::waits_for_balance(Seconds decision) {
  const PromptWait& wait = rule_.wait;
  if (wait.balance_iterations == 0 || groups_.size() == 1) return false;
  bool any = false, all = true, decodes = true, decodes_anything = false;
  for (const Group& group : groups_) {
    const bool waits = any_waits(group, decision);
    any |= waits;
    all &= waits;
    decodes &= !group.running.empty();
    decodes_anything |= !group.running.empty();
  }
  if (!any || !decodes_anything) return false;
  if (!all && unbalanced_steps_ < wait.balance_iterations) return ++unbalanced_steps_ > 0;
  if (all && decodes && balanced_steps_ < wait.balance_batching) return ++balanced_steps_ > 0;
  unbalanced_steps_ = balanced_steps_ = 0;
  return false;
}

void ReplicaSimulation::compose(Group& group, Seconds decision) {
  group.step = {};
  group.holds = balancing_;
  group.finished.clear();
  group.parts.clear();
  group.preempted.clear();
  if (group.running.empty() && group.prompts.empty()) release(group);
  const bool all_go_on = group.running.empty() || make_room(group);
  follow_prefixes(group, replica_.cost.drafts);
  if (!rule_.mixes) {
    take_prompts(group, rule_.token_budget, decision);
    if (group.step.prefill_tokens > 0.0) return;
  }
  const double rows = add_decodes(group);
  if (!all_go_on) return;
  if (any_waits(group, decision) && waits_for_more(group, decision)) {
    ++group.held;
    group.holds = true;
  }
  if (!rule_.mixes || group.holds) return;
  group.held = 0;
  take_prompts(group, rule_.token_budget - rows, decision);
}

// How many steps of this duration come before anything changes.
double ReplicaSimulation::steps_alike(Seconds duration, Seconds limit) const {
  double steps = kMostStepsAlike;
  const int interval = rule_.wait.receive_interval;
  for (const Group& group : groups_) {
    if (interval > 1 && !group.waiting.empty()) steps = std::min(steps, interval - blind_steps_);
    if (group.step.prefill_tokens > 0.0 || !group.finished.empty() || group.holds) return 1.0;
    // The next step may admit a request, or give tokens to those that were left out.
    const bool may_admit = !group.leaving.empty() && !group.waiting.empty();
    if (group.is_cut || may_admit || !group.preempted.empty()) return 1.0;
    if (group.running.empty()) continue;
    steps = std::min(steps, group.running.front().last_step - group.decode_steps);
    if (!group.arriving.empty()) {
      const Seconds there = group.arriving.front().there;
      if (there > start_) limit = std::min(limit, there);
      if (there <= start_ && there > last_start_) return 1.0;
    }
    // Somebody who waits may become visible.
    if (!group.waiting.empty()) {
      const Seconds seen = group.waiting.front().enqueued;
      if (seen > start_) limit = std::min(limit, seen);
      if (seen <= start_ && seen > last_start_) return 1.0;
    }
  }
  if (start_ + duration * steps > limit) {
    steps = std::ceil((limit - start_) / duration);
  }
  for (const Group& group : groups_) {
    if (!group.running.empty()) steps = steps_that_fit(group, steps);
  }
  return std::max(1.0, steps);
}

void ReplicaSimulation::start_decoding(Group& group, const QueuedRequest& request, Seconds now) {
  group.cached -= request.input;
  if (request.remaining <= 0.0) {
    group.reserved -= limit_of(request);
    ends_.push_back({request.index, now});
    group.leaving.push_back({request.prefix, request.input});
    return;
  }
  Running one;
  one.last_step = group.decode_steps + std::ceil(request.remaining / rule_.tokens_per_step);
  one.request = request;
  // What is promised shrinks by whole steps from here on.
  const double steps = one.last_step - group.decode_steps;
  group.reserved +=
      reserved_share(rule_.full_cache) * (steps * rule_.tokens_per_step - request.remaining);
  const double context = request.input + 1.0;
  one.context = context - group.decode_steps * rule_.tokens_per_step;
  group.context += context;
  group.running.push_back(one);
  std::push_heap(group.running.begin(), group.running.end(), ends_later);
  group.newcomers.push_back(now);
}

void ReplicaSimulation::end_prompts(Group& group, Seconds end, Seconds delay) {
  // From the back, so that places stay.
  std::vector<QueuedRequest> whole;
  for (auto at = group.finished.rbegin(); at != group.finished.rend(); ++at) {
    const auto place = group.prompts.begin() + static_cast<std::ptrdiff_t>(*at);
    whole.push_back(place->request);
    group.prompts.erase(place);
  }
  for (auto request = whole.rbegin(); request != whole.rend(); ++request) {
    if (!request->has_first) {
      first_tokens_.push_back({request->index, end + delay});
      request->has_first = true;
    }
    start_decoding(group, *request, end);
  }
}

void ReplicaSimulation::end_decodes(Group& group, Seconds end, double steps, Seconds each) {
  if (group.step.decode_sequences <= 0.0) {
    for (Running& one : group.running) one.missing = 0.0;
    group.is_cut = false;
    return;
  }
  const double running = static_cast<double>(group.running.size());
  // Gaps of this step: those that came since the last one count from their first token.
  const Seconds first_end = end - each * (steps - 1.0);
  for (const Seconds first : group.newcomers) run_.gaps.push_back({first_end - first, 1.0});
  const double old = running - static_cast<double>(group.newcomers.size());
  if (old > 0.0) run_.gaps.push_back({first_end - group.last_decode, old});
  if (steps > 1.0) run_.gaps.push_back({each, (steps - 1.0) * running});
  group.newcomers.clear();
  group.last_decode = end;

  follow_prefixes(group, (steps - 1.0) * rule_.tokens_per_step + replica_.cost.drafts);
  group.decode_steps += steps;
  group.context += steps * running * rule_.tokens_per_step;
  group.reserved -= reserved_share(rule_.full_cache) * steps * running * rule_.tokens_per_step;
  if (group.is_cut) make_up(group);
  while (!group.running.empty() && group.running.front().last_step <= group.decode_steps) {
    std::pop_heap(group.running.begin(), group.running.end(), ends_later);
    const Running& done = group.running.back();
    group.context -= done.context + group.decode_steps * rule_.tokens_per_step;
    ends_.push_back({done.request.index, end});
    group.leaving.push_back({done.request.prefix, context_of(group, done) - 1.0});
    group.running.pop_back();
  }
}

void ReplicaSimulation::compose_step(Seconds start, std::size_t stream) {
  first_tokens_.clear();
  ends_.clear();
  start_ = start;
  if (has_streams_) return compose_stream(groups_[stream], start);
  const bool idle = was_idle_ || start > clock_;
  const bool looks_back = rule_.overlapped && !idle && !replica_.step;
  const Seconds decision = looks_back ? last_start_ : start;
  const Seconds seen = seen_until(decision, idle);
  slowest_ = mean_ = {};
  balancing_ = waits_for_balance(seen);
  for (Group& group : groups_) {
    group.start = start;
    fetch(group, start);
    begin_arrived(group, decision);
    compose(group, seen);
    if (run_.is_traced) trace_begin(group, seen);
    const EngineStep& s = group.step;
    slowest_ = {std::max(slowest_.decode_sequences, s.decode_sequences),
                std::max(slowest_.decode_context, s.decode_context),
                std::max(slowest_.prefill_tokens, s.prefill_tokens),
                std::max(slowest_.prefill_sequences, s.prefill_sequences),
                std::max(slowest_.prefill_pairs, s.prefill_pairs)};
    mean_ = mean_ + s;
  }
  const double share = 1.0 / static_cast<double>(groups_.size());
  mean_ = {mean_.decode_sequences * share, mean_.decode_context * share,
           mean_.prefill_tokens * share, mean_.prefill_sequences * share,
           mean_.prefill_pairs * share};
}

void ReplicaSimulation::finish_step(Seconds end, std::size_t stream) {
  if (has_streams_) {
    first_tokens_.clear();
    ends_.clear();
  }
  end_steps({end, 1.0, end - groups_[stream].start, {}}, stream);
}

void ReplicaSimulation::end_group(Group& group, const Finished& finished) {
  const std::size_t ended = ends_.size();
  const bool is_traced = run_.is_traced && !(group.traced.batch.empty() && group.preempted.empty());
  if (is_traced) trace_end(group, finished);
  release(group);
  end_decodes(group, finished.end, finished.steps, finished.each);
  end_prompts(group, finished.end, finished.prompt_delay);
  if (!is_traced) return;
  std::vector<int>& over = run_.trace.back().finished;
  for (std::size_t i = ended; i < ends_.size(); ++i) over.push_back(ends_[i].index);
  std::sort(over.begin(), over.end());
}

void ReplicaSimulation::end_steps(const Finished& finished, std::size_t stream) {
  if (has_streams_) return end_pass(groups_[stream], finished);
  for (Group& group : groups_) {
    end_group(group, finished);
    if (!rule_.overlapped) release(group);
  }
  busy_ += finished.end - start_;
  run_.steps += static_cast<std::int64_t>(finished.steps);
  blind_steps_ += finished.steps;
  had_prompts_ = slowest_.prefill_tokens > 0.0;
  // The step after a run is composed while its last step runs.
  last_start_ = finished.end - finished.each;
  clock_ = finished.end;
  // Nothing could be composed: the decision came before everything that waits.
  const bool empty = slowest_.decode_sequences == 0.0 && slowest_.prefill_tokens == 0.0;
  was_idle_ = empty;
  if (empty && ends_.empty() && first_tokens_.empty()) last_start_ = start_;
}

void ReplicaSimulation::advance(Seconds limit) {
  if (has_streams_) return advance_streams(limit);
  compose_step(std::max(clock_, *next_start()));
  StepDuration one = step_duration(replica_, slowest_, mean_);
  double steps = 1.0;
  if (slowest_.decode_sequences > 0.0) {
    steps = steps_alike(one.duration, limit);
    if (steps > 1.0) {
      // Contexts grow: the middle step stands for all.
      const double grown = (steps - 1.0) / 2.0 * rule_.tokens_per_step;
      slowest_.decode_context += grown * slowest_.decode_sequences;
      mean_.decode_context += grown * mean_.decode_sequences;
      one = step_duration(replica_, slowest_, mean_);
    }
  }
  end_steps({start_ + one.duration * steps, steps, one.duration, one.prompt_delay}, 0);
}

}  // namespace meshwright
