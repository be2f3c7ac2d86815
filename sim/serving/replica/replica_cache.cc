// SPDX-License-Identifier: Apache-2.0
// Room in the cache of a ReplicaSimulation. Before a step each running request holds the blocks of
// its tokens but the last, which the step computes. If no block is free for it, the engine preempts
// a request (vLLM v1/core/sched/scheduler.py, schedule).
#include <algorithm>
#include <cmath>

#include "sim/serving/replica_simulation.h"

namespace meshwright {
namespace {

constexpr auto kOlder = [](const auto& a, const auto& b) {
  return a.request.place < b.request.place;
};

}  // namespace

double ReplicaSimulation::held(double tokens) const {
  return in_blocks(tokens, rule_.block_size) + windows_;
}

double ReplicaSimulation::context_of(const Group& group, const Running& one) const {
  return one.context + group.decode_steps * rule_.tokens_per_step;
}

double ReplicaSimulation::answer_left(const Group& group, const Running& one) const {
  return one.request.remaining - (context_of(group, one) - one.request.input - 1.0);
}

double ReplicaSimulation::requests_in(const Group& group) const {
  return static_cast<double>(group.running.size() + group.prompts.size() + group.arriving.size());
}

double ReplicaSimulation::requests_beside(const Group& group) const {
  return sum_beside(group, [&](const Group& one) { return requests_in(one); });
}

double ReplicaSimulation::used(const Group& group, double more) const {
  double sum = 0;
  for (const Running& one : group.running) {
    sum += held(context_of(group, one) + more - one.missing);
  }
  for (const Prompt& one : group.prompts) sum += held(one.cached());
  for (const Arriving& one : group.arriving) sum += held(one.request.input);
  for (const Leaving& one : group.leaving) sum += held(one.tokens);
  return sum;
}

double ReplicaSimulation::used_beside(const Group& group, double more) const {
  return sum_beside(group, [&](const Group& one) { return used(one, more); }) -
         prefixes_of(group).counted_twice() * rule_.block_size;
}

bool ReplicaSimulation::fits(const Group& group, double more, double beside) const {
  double requests = 0, tokens = beside;
  for (const Group& one : groups_) {
    if (!has_streams_ && &one != &group) continue;
    requests += requests_in(one) + static_cast<double>(one.leaving.size());
    tokens += one.context + static_cast<double>(one.running.size()) * more + one.cached;
    for (const Leaving& left : one.leaving) tokens += left.tokens;
  }
  // Bounds: partly filled blocks in all requests, or in none.
  const double room = capacity_ - tokens - requests * windows_;
  if (room >= requests * (rule_.block_size - 1)) return true;
  if (room + prefixes_of(group).counted_twice() * rule_.block_size < 0.0) return false;
  return used_beside(group, more) + beside <= capacity_;
}

// Tokens that a request must find free, beyond its prompt.
double ReplicaSimulation::limit_of(const QueuedRequest& request) const {
  return reserved_share(rule_.full_cache) * request.remaining;
}

// The last token is never found: its pass gives the next one.
double ReplicaSimulation::found_tokens(const Group& group, const QueuedRequest& request) const {
  const double said = request.input - request.computed;
  if (!follows_prefixes_) return said;
  const double most = std::floor((request.input - 1.0) / rule_.block_size);
  return std::max(said, prefixes_of(group).found(request.prefix, most) * rule_.block_size);
}

bool ReplicaSimulation::has_room(const Group& group, const QueuedRequest& request, double found,
                                 double budget) const {
  const double requests = requests_beside(group);
  if (requests == 0) return true;
  const double leaving =
      sum_beside(group, [](const Group& one) { return static_cast<double>(one.leaving.size()); });
  if (requests + leaving + 1.0 > rule_.max_sequences) return false;
  const double now = found + std::min(budget, request.input - found);
  double beside = held(rule_.whole_prompts ? request.input : now) + limit_of(request) +
                  1.0 * rule_.watermark_blocks * rule_.block_size;
  beside += sum_beside(group, [](const Group& one) { return one.reserved + one.unfilled; });
  if (follows_prefixes_) {
    const double blocks = found / rule_.block_size;
    beside -= prefixes_of(group).found_in_use(request.prefix, blocks) * rule_.block_size;
  }
  return fits(group, replica_.cost.drafts, beside);
}

void ReplicaSimulation::take_in(Group& group, QueuedRequest& request) {
  request.place = ++admitted_;
  group.reserved += limit_of(request);
}

// A step that had to make room admits no request (vLLM v1/core/sched/scheduler.py).
bool ReplicaSimulation::admit(Group& group, double budget, Seconds decision) {
  if (group.waiting.empty() || !group.preempted.empty()) return false;
  QueuedRequest next = group.waiting.front();
  if (next.moved || next.enqueued > decision) return false;
  const double found = found_tokens(group, next), rows = next.input - found;
  // A prompt that is never cut waits for a step with room, or runs alone if no step has it.
  const bool is_alone = group.step.prefill_tokens == 0.0 && rows > rule_.token_budget;
  if (!rule_.chunks && rows > budget && !is_alone) return false;
  if (!has_room(group, next, found, budget)) return false;
  take_in(group, next);
  if (follows_prefixes_) {
    CachedPrefixes& prefixes = prefixes_of(group);
    prefixes.hold(next.prefix, prefixes.found(next.prefix, std::floor(found / rule_.block_size)));
  }
  group.prompts.push_back({next, found, 0.0});
  group.cached += found;
  group.unfilled += rows;
  group.waiting.pop_front();
  return true;
}

bool ReplicaSimulation::make_room(Group& group) {
  const double more = replica_.cost.drafts;
  if (rule_.by_priority) return fits(group, more) || make_room_in_turn(group);
  while (!fits(group, more, evicts_prompts() ? 0.0 : group.unfilled)) {
    const bool others = requests_beside(group) > requests_in(group);
    const bool spares = group.running.size() > 1 || (others && !group.running.empty());
    if (!group.prompts.empty() && (evicts_prompts() || !spares)) {
      preempt_prompt(group);
    } else if (spares) {
      preempt(group, std::max_element(group.running.begin(), group.running.end(), kOlder));
    } else {
      break;
    }
  }
  return true;
}

// One request after the other takes its next block. The last one with the highest priority number
// is preempted. If that is the request itself, those behind it wait for the next step.
bool ReplicaSimulation::make_room_in_turn(Group& group) {
  const double drafts = replica_.cost.drafts, before = drafts - rule_.tokens_per_step;
  double free = capacity_ - used_beside(group, before);
  const auto tokens = [&](const Running& one) { return context_of(group, one); };
  const auto behind = [](const QueuedRequest& a, const QueuedRequest& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.enqueued != b.enqueued ? a.enqueued > b.enqueued : a.place < b.place;
  };
  std::vector<double> places;
  for (const Running& one : group.running) places.push_back(one.request.place);
  std::sort(places.begin(), places.end());
  for (const double place : places) {
    const auto at_place = [&] {
      return std::find_if(group.running.begin(), group.running.end(),
                          [&](const Running& one) { return one.request.place == place; });
    };
    if (at_place() == group.running.end()) continue;
    const double context = tokens(*at_place());
    const double need = held(context + drafts) - held(context + before);
    while (need > free) {
      const auto last = std::min_element(
          group.running.begin(), group.running.end(),
          [&](const Running& a, const Running& b) { return behind(a.request, b.request); });
      if (!group.prompts.empty() && behind(group.prompts.back().request, last->request)) {
        free += held(group.prompts.back().cached());
        preempt_prompt(group);
        continue;
      }
      const double gone = last->request.place;
      free += held(tokens(*last) + (gone < place ? drafts : before));
      preempt(group, last);
      if (gone != place) continue;
      for (Running& one : group.running) {
        if (one.request.place > place) one.missing = rule_.tokens_per_step;
      }
      group.is_cut = true;
      return false;
    }
    free -= need;
  }
  return true;
}

double ReplicaSimulation::add_decodes(Group& group) {
  const double each = 1.0 + replica_.cost.drafts, most = rule_.mixes ? rule_.token_budget : 1e18;
  const auto running = static_cast<double>(group.running.size());
  if (running == 0.0) return 0.0;
  group.step.decode_sequences = running;
  group.step.decode_context = group.context;
  if (!group.is_cut && running * each <= most) return running * each;
  // The older ones come first.
  std::vector<Running*> order;
  for (Running& one : group.running) order.push_back(&one);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return kOlder(*a, *b); });
  double rows = 0;
  group.step.decode_sequences = group.step.decode_context = 0;
  for (Running* one : order) {
    const double given = one->missing > 0.0 ? 0.0 : std::min(each, most - rows);
    one->missing = rule_.tokens_per_step - std::min(rule_.tokens_per_step, given);
    rows += given;
    if (given == 0.0) continue;
    group.step.decode_sequences += 1.0;
    group.step.decode_context += context_of(group, *one);
  }
  group.is_cut = true;
  return rows;
}

void ReplicaSimulation::make_up(Group& group) {
  const double share = reserved_share(rule_.full_cache) * rule_.tokens_per_step;
  for (Running& one : group.running) {
    if (one.missing == 0.0) continue;
    one.context -= one.missing;
    group.context -= one.missing;
    one.missing = 0.0;
    const double last =
        group.decode_steps + std::ceil(answer_left(group, one) / rule_.tokens_per_step);
    group.reserved += share * (last - one.last_step);
    one.last_step = last;
  }
  std::make_heap(group.running.begin(), group.running.end(), ends_later);
  group.is_cut = false;
}

// The request waits in front, but behind lower priority numbers. Its blocks become free.
void ReplicaSimulation::put_back(Group& group, QueuedRequest request, double computed) {
  if (evicts_prompts() && rule_.prefix_caching) {
    request.prefix.request = request.index;
    prefixes_of(group).give_back(request.prefix,
                                 in_blocks(computed, rule_.block_size) / rule_.block_size,
                                 std::floor(computed / rule_.block_size));
  }
  ++run_.preemptions;
  group.preempted.push_back(request.index);
  const auto behind =
      std::find_if(group.waiting.begin(), group.waiting.end(), [&](const QueuedRequest& one) {
        if (!rule_.by_priority || one.priority > request.priority) return true;
        if (one.priority < request.priority || one.enqueued < request.enqueued) return false;
        return one.enqueued > request.enqueued || one.index > request.index;
      });
  group.waiting.insert(behind, request);
}

// The request is computed again with the tokens that it has. That pass gives its next one.
void ReplicaSimulation::preempt(Group& group, std::vector<Running>::iterator one) {
  begin_to_follow(group);
  QueuedRequest request = one->request;
  const double context = context_of(group, *one);
  request.remaining = std::max(0.0, answer_left(group, *one) - 1.0);
  request.input = request.computed = context;
  request.has_first = true;
  group.context -= context;
  group.reserved -= reserved_share(rule_.full_cache) * (one->last_step - group.decode_steps) *
                    rule_.tokens_per_step;
  group.running.erase(one);
  std::make_heap(group.running.begin(), group.running.end(), ends_later);
  put_back(group, request, context - 1.0);
}

void ReplicaSimulation::preempt_prompt(Group& group) {
  begin_to_follow(group);
  const Prompt prompt = group.prompts.back();
  group.cached -= prompt.cached();
  group.unfilled -= prompt.left();
  group.reserved -= limit_of(prompt.request);
  group.prompts.pop_back();
  put_back(group, prompt.request, prompt.cached());
}

void ReplicaSimulation::begin_to_follow(const Group& group) {
  follows_prefixes_ = follows_prefixes_ || (evicts_prompts() && rule_.prefix_caching);
  follow_prefixes(group, replica_.cost.drafts - rule_.tokens_per_step);
}

void ReplicaSimulation::follow_prefixes(const Group& group, double more) {
  if (follows_prefixes_) prefixes_of(group).set_used(used_beside(group, more) / rule_.block_size);
}

void ReplicaSimulation::release(Group& group) {
  if (follows_prefixes_) {
    for (Leaving& one : group.leaving) {
      const double blocks = in_blocks(one.tokens, rule_.block_size) / rule_.block_size;
      prefixes_of(group).give_back(one.prefix, blocks, 0.0);
    }
  }
  group.leaving.clear();
}

double ReplicaSimulation::steps_that_fit(const Group& group, double steps) const {
  const auto last_fits = [&](double count) {
    return fits(group, (count - 1.0) * rule_.tokens_per_step + replica_.cost.drafts);
  };
  if (last_fits(steps)) return steps;
  double least = 1.0;
  while (steps - least > 1.0) {
    const double middle = std::floor((least + steps) / 2.0);
    (last_fits(middle) ? least : steps) = middle;
  }
  return least;
}

}  // namespace meshwright
