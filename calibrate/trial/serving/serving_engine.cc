// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/serving_engine.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "calibrate/launch/rank_progress.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/trial/stage/batch.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

// The rank is seen to go on while nobody asks.
constexpr double kLongestSleep = 0.5;
// Between two looks at what the other pool sent.
constexpr double kFlowSleep = 1e-4;

// Of a prompt's cache on its way: it is here when it is here.
constexpr Seconds kUnknown{std::numeric_limits<double>::infinity()};

std::size_t at_place(int index) { return static_cast<std::size_t>(index); }
std::int64_t whole_tokens(double tokens) { return static_cast<std::int64_t>(tokens); }

// On stages between the first and the last, which know no tokens.
constexpr std::int32_t kUnknownToken = -1;

// The scheduler's view of the engine that runs. It finds no prompt in the cache, and sees a request
// at once. It composes a step when the one before it is over.
ServingReplica scheduled_replica(const ServingScenario& scenario,
                                 const ServingModelOptions& options) {
  ServingReplica replica;
  replica.cost.stages = scenario.options.layout.pipeline_parallel_size;
  replica.rule = scheduler_rule(scenario.engine, scenario.options);
  replica.rule.block_size = options.block_size;
  replica.rule.prefix_caching = false;
  replica.rule.overlapped = false;
  replica.rule.request = {};
  replica.memory.sequence.full_token = bytes(1);
  replica.memory.sequence.block_size = options.block_size;
  replica.memory.kv_cache = bytes(static_cast<double>(options.blocks * options.block_size));
  return replica;
}

}  // namespace

ServingEngine::ServingEngine(const ServingScenario& scenario, Compute& compute, Communicator& ranks,
                             const ServingModelOptions& options)
    : scenario_(scenario),
      ranks_(ranks),
      seed_(options.seed),
      precision_(options.precision),
      pool_(options.blocks, options.block_size),
      model_(scenario.model, scenario.options.layout, compute, ranks, options),
      replica_(scheduled_replica(scenario, options)) {}

ServingEngine::Served& ServingEngine::served(int request) {
  return served_[(at_place(request) - share_.first) / share_.stride];
}

const std::vector<std::int32_t>& ServingEngine::tokens_of(int request) const {
  return served_[(at_place(request) - share_.first) / share_.stride].tokens;
}

void ServingEngine::start(const ServingLoad& load, ServedShare share) {
  load_ = load;
  share_ = share;
  asked_ = requests_of(load);
  next_ = share.first;
  scheduled_ = {};
  scheduler_.emplace(replica_, scheduled_);
  account_.emplace(scenario_, precision_, model_.stage());
  passes_.assign(scheduler_->streams(), std::nullopt);
  served_.clear();
  steps_.clear();
  indices_.clear();
  run_ = {};
  for (std::size_t i = share.first; i < asked_.size(); i += share.stride) {
    const ServingRequest& one = asked_[i];
    indices_.push_back(static_cast<int>(i));
    Served& made = served_.emplace_back();
    made.tokens = token_ids(scenario_.model, 1, one.input, static_cast<std::int64_t>(i), 0, seed_);
    made.timing.input = one.input;
    made.timing.output = flow_ != nullptr && flow_->computes_prompts_only() ? 1 : one.output;
    invariant(scheduler_->could_hold(one.input + made.timing.output - 1.0),
              "the cache holds each request");
  }
  if (flow_ != nullptr) {
    flow_->begin();
  } else {
    ranks_.barrier();
  }
  begin_ = steady_clock_seconds();
}

// The first rank's, on every rank: all schedulers see the same time.
Seconds ServingEngine::shared_clock() {
  double now = steady_clock_seconds() - begin_;
  ranks_.host_broadcast(&now, sizeof now, 0);
  return seconds(now);
}

void ServingEngine::ask(std::size_t request, Seconds arrival, Seconds now,
                        std::optional<std::int32_t> first_token) {
  Served& one = served(static_cast<int>(request));
  one.timing.arrival = arrival;
  QueuedRequest queued;
  queued.index = static_cast<int>(request);
  queued.enqueued = now;
  queued.input = queued.computed = one.timing.input;
  queued.remaining = one.timing.output - 1.0;
  if (first_token) {
    one.tokens.push_back(*first_token);
    queued.moved = true;
    queued.moving = kUnknown;
  }
  scheduler_->enqueue(queued);
}

void ServingEngine::ask_next(Seconds arrival) {
  ask(next_, arrival, arrival);
  next_ += share_.stride;
}

void ServingEngine::ask_arrived(Seconds now) {
  if (load_.kind == LoadKind::closed_loop) return;
  while (next_ < asked_.size() && asked_[next_].arrival <= now) ask_next(asked_[next_].arrival);
}

// Copies of the cache come and go between steps: the next one begins behind them.
Seconds ServingEngine::take_in(Seconds now) {
  if (flow_ == nullptr) {
    ask_arrived(now);
    return now;
  }
  for (const RequestFlow::Arrival& one : flow_->arrivals(now)) {
    ask(at_place(one.request), one.arrival, now, one.first_token);
  }
  const std::vector<int> landed = flow_->landed();
  now = shared_clock();
  for (const int request : landed) {
    Served& one = served(request);
    one.cached = one.timing.input;
    one.timing.first_token = one.last_token = now;
    scheduler_->arrive(request, now);
  }
  return now;
}

// Waits where nothing is to be done before the next request comes; false: this was the last.
bool ServingEngine::wait_for_work(std::size_t stream, Seconds now) {
  const std::optional<Seconds> own = scheduler_->next_start(stream);
  if (own && *own <= now) return true;
  // The next streams have a step to begin or to end.
  const std::optional<Seconds> start = scheduler_->next_start();
  if (start && *start <= now) return true;
  if (std::any_of(passes_.begin(), passes_.end(), [](const auto& pass) { return bool(pass); })) {
    return true;
  }
  if (flow_ != nullptr) {
    if (!start && flow_->is_over()) return false;
    begin_operation({.name = "wait for the other pool", .slow = seconds(kLongestSleep)});
    if (ranks_.rank() == 0) std::this_thread::sleep_for(std::chrono::duration<double>(kFlowSleep));
    return true;
  }
  if (!start && next_ >= asked_.size()) return false;
  const Seconds until = start ? *start : asked_[next_].arrival;
  begin_operation({.name = "wait for the next request", .slow = seconds(kLongestSleep)});
  if (ranks_.rank() == 0) {
    const double rest = std::min(kLongestSleep, (until - now).value());
    std::this_thread::sleep_for(std::chrono::duration<double>(std::max(0.0, rest)));
  }
  return true;
}

void ServingEngine::run(const ServingLoad& load, ServedShare share, RequestFlow* flow) {
  flow_ = flow;
  start(load, share);
  if (flow == nullptr && load.kind == LoadKind::closed_loop) {
    const auto users = static_cast<std::size_t>(std::max(1.0, load.concurrency));
    while (next_ < std::min(users, asked_.size())) ask_next({});
  }
  for (std::size_t stream = 0;; stream = (stream + 1) % passes_.size()) {
    take_back(stream);
    Seconds now = shared_clock();
    finish_step(stream, now);
    now = take_in(now);
    if (!wait_for_work(stream, now)) break;
    const std::optional<Seconds> next = scheduler_->next_start(stream);
    if (next && *next <= now) run_step(stream, now);
  }
  if (has_stages()) {
    model_.finish_passes();
    account_->join_stages(ranks_, steps_);
  }
  for (const Served& one : served_) {
    run_.requests.push_back(one.timing);
    run_.duration = std::max(run_.duration, one.timing.end);
  }
  run_.steps = scheduled_.steps;
  run_.preemptions = scheduled_.preemptions;
  run_.busy_share = run_.duration > seconds(0) ? scheduler_->busy() / run_.duration : 0.0;
}

// The sequences of the step that was composed: those that decode, then parts of prompts.
std::vector<ServingEngine::Part> ServingEngine::composed_parts(std::size_t stream) {
  std::vector<Part> parts;
  for (const int request : scheduler_->decodes_of(stream)) parts.push_back({.request = request});
  for (const PromptPart& part : scheduler_->prompts_of(stream)) {
    invariant(whole_tokens(part.begin) == served(part.index).cached,
              "a prompt goes on where it stopped");
    parts.push_back({.request = part.index,
                     .count = whole_tokens(part.tokens),
                     .gives = part.last,
                     .decodes = false});
  }
  return parts;
}

void ServingEngine::run_step(std::size_t stream, Seconds begin) {
  scheduler_->compose_step(begin, stream);
  for (const int request : scheduler_->preempted(stream)) {
    pool_.give_back(served(request).blocks);
    served(request).cached = 0;
  }
  for (const int request : scheduler_->fetched(stream)) {
    Served& one = served(request);
    pool_.hold(one.blocks, one.timing.input);
    flow_->fetch(request, one.timing.input, one.blocks, begin);
  }
  Pass& pass = passes_[stream].emplace();
  pass.parts = composed_parts(stream);
  if (!pass.parts.empty()) run_pass(pass, stream, begin);
}

void ServingEngine::run_pass(Pass& pass, std::size_t stream, Seconds begin) {
  EngineStep step;
  std::vector<SequenceInput> sequences;
  for (const Part& part : pass.parts) {
    Served& one = served(part.request);
    pool_.hold(one.blocks, one.cached + part.count);
    sequences.push_back({one.tokens.data() + one.cached, part.count, one.cached, &one.blocks});
    const auto count = static_cast<double>(part.count), cached = static_cast<double>(one.cached);
    step = step + (part.decodes ? decode_step(1, cached + 1.0) : prefill_step(1, count, cached));
    one.cached += part.count;
  }
  model_.recorder().begin_step();
  pass.tokens = model_.pass(sequences);
  model_.recorder().end_step();
  pass.step = steps_.size();
  record_step(begin, scheduler_->step_of(stream), step);
}

void ServingEngine::record_step(Seconds begin, const EngineStep& step, const EngineStep& pass) {
  ObservedServingStep made;
  made.begin = begin;
  made.step = step;
  made.kv_blocks = static_cast<double>(pool_.used());
  made.bytes_as_said = account_->add(pass, model_.recorder());
  made.sent = account_->sent();
  steps_.push_back(made);
}

void ServingEngine::take_back(std::size_t stream) {
  if (!passes_[stream] || passes_[stream]->parts.empty() || !has_stages()) return;
  Pass& pass = *passes_[stream];
  if (model_.is_first_stage()) {
    pass.tokens = model_.returned_tokens(pass.parts.size());
  } else if (!model_.is_last_stage()) {
    pass.tokens.assign(pass.parts.size(), kUnknownToken);
  }
}

void ServingEngine::give_token(const Part& part, std::int32_t token, Seconds now) {
  Served& one = served(part.request);
  one.tokens.push_back(token);
  if (static_cast<int>(one.tokens.size()) == one.timing.input + 1) {
    one.timing.first_token = now;
  } else {
    run_.gaps.push_back({now - one.last_token, 1.0});
  }
  one.last_token = now;
}

void ServingEngine::finish_step(std::size_t stream, Seconds end) {
  if (!passes_[stream]) return;
  const Pass& pass = *passes_[stream];
  for (std::size_t i = 0; i < pass.parts.size(); ++i) {
    if (pass.parts[i].gives) give_token(pass.parts[i], pass.tokens[i], end);
  }
  if (!pass.parts.empty()) steps_[pass.step].time = end - steps_[pass.step].begin;
  passes_[stream].reset();
  scheduler_->finish_step(end, stream);
  for (const StepEvent& event : scheduler_->ends()) this->end(event);
}

void ServingEngine::end(const StepEvent& event) {
  Served& one = served(event.index);
  invariant(static_cast<int>(one.tokens.size()) == one.timing.input + one.timing.output,
            "a request ends with its last token");
  one.timing.end = event.when;
  if (flow_ != nullptr) {
    flow_->leave({.request = event.index,
                  .arrival = one.timing.arrival,
                  .when = event.when,
                  .last_token = one.tokens.back(),
                  .cached = one.cached,
                  .blocks = &one.blocks});
  } else if (load_.kind == LoadKind::closed_loop && next_ < asked_.size()) {
    ask_next(event.when);
  }
  pool_.give_back(one.blocks);
}

}  // namespace meshwright::calibrate
