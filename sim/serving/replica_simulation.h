// SPDX-License-Identifier: Apache-2.0
// One replica's queues and steps, the part of simulation.h that an engine is.
//
// Data ranks of attention step together, each with its own requests. Pipeline stages have as many
// streams, each with its own requests, too, but each stream steps by itself, and all share the
// cache: while one's pass is on the second stage, the next one's is on the first (vLLM
// v1/engine/core.py, step_with_batch_queue).
//
// The scheduler has two clocks. advance() runs a step in the time that it is predicted to take. An
// engine that executes it calls compose_step(), runs what it says, and calls finish_step() with the
// time at which it was done.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "sim/serving/replica/cached_prefixes.h"
#include "sim/serving/scheduler.h"
#include "sim/serving/simulation.h"

namespace meshwright {

// A request inside a replica.
struct QueuedRequest {
  int index = 0;           // of the load
  Seconds enqueued{};      // when the engine may see it
  double input = 0;        // tokens that must be in the cache before it decodes
  double computed = 0;     // of them without a prefix hit
  double remaining = 0;    // tokens of its answer after its first
  bool has_first = false;  // its first token is out already: it was preempted
  bool moved = false;      // its prompt was computed elsewhere (disaggregated)
  Seconds moving{};        // and takes the group's links so long
  int priority = 0;        // lower numbers first, under priority
  double place = 0;        // number of its admission
  PrefixHold prefix{};     // blocks that it may share
};

struct StepEvent {
  int index = 0;
  Seconds when{};
};

// What a step computes of one prompt.
struct PromptPart {
  int index = 0;      // of the load
  double begin = 0;   // tokens of it that are in the cache already
  double tokens = 0;  // behind them
  bool last = false;  // the prompt is whole with them, and gives a token
};

class ReplicaSimulation {
 public:
  // Records gaps into `run`.
  ReplicaSimulation(const ServingReplica& replica, ServingRun& run);

  // Tells whether a request fits into an idle replica. Its last token is never in the cache.
  [[nodiscard]] bool could_hold(double tokens) const { return held(tokens) <= capacity_; }
  void enqueue(const QueuedRequest& request);
  // When the next step may start; none: nothing to do.
  [[nodiscard]] std::optional<Seconds> next_start() const;
  // Streams that step by themselves: one a stage, one in all without stages.
  [[nodiscard]] std::size_t streams() const { return has_streams_ ? groups_.size() : 1; }
  // When the stream's next step may start; none: it has nothing to do, or a step that is not over.
  [[nodiscard]] std::optional<Seconds> next_start(std::size_t stream) const;
  // Runs one step, or a run of equal ones that ends before `limit`. Their first tokens and ends are
  // in first_tokens() and ends().
  void advance(Seconds limit);
  [[nodiscard]] const std::vector<StepEvent>& first_tokens() const { return first_tokens_; }
  [[nodiscard]] const std::vector<StepEvent>& ends() const { return ends_; }
  [[nodiscard]] Seconds busy() const { return busy_; }

  // The stream's next step, which starts at `start`, not before next_start(stream).
  void compose_step(Seconds start, std::size_t stream = 0);
  // The cache of a request that set out in a step before is here. Its time was not known (moving:
  // infinity).
  void arrive(int index, Seconds when);
  // The stream's step is over. Its first tokens and ends are known from now on.
  void finish_step(Seconds end, std::size_t stream = 0);
  // Of the step that was composed last, on one attention group or stream: its sizes, the requests
  // that decode, and the parts of prompts. Those that lost their place in the cache before it.
  [[nodiscard]] const EngineStep& step_of(std::size_t group) const { return groups_[group].step; }
  [[nodiscard]] std::vector<int> decodes_of(std::size_t group) const;
  [[nodiscard]] const std::vector<PromptPart>& prompts_of(std::size_t group) const {
    return groups_[group].parts;
  }
  [[nodiscard]] const std::vector<int>& preempted(std::size_t group) const {
    return groups_[group].preempted;
  }
  // Requests whose cache set out, from the other pool, before the step; they have room here.
  [[nodiscard]] const std::vector<int>& fetched(std::size_t group) const {
    return groups_[group].fetched;
  }

 private:
  struct Running {
    double last_step = 0;  // of the group's decode steps, its last
    QueuedRequest request{};
    double context = 0;  // when it began, less the tokens of the steps before
    double missing = 0;  // tokens that it does not get in this step, for lack of rows or blocks
  };
  static bool ends_later(const Running& a, const Running& b) { return a.last_step > b.last_step; }
  struct Prompt {
    QueuedRequest request{};
    double found = 0;  // tokens that were in the cache
    double done = 0;   // behind them
    [[nodiscard]] double left() const { return request.input - found - done; }
    [[nodiscard]] double cached() const { return found + done; }
  };
  // A finished request, and its tokens in the cache.
  struct Leaving {
    PrefixHold prefix{};
    double tokens = 0;
  };
  // A prompt on its way into the group's cache, which has room for it already.
  struct Arriving {
    QueuedRequest request{};
    Seconds there{};
  };
  // A step that is over, or so many equal ones.
  struct Finished {
    Seconds end{};
    double steps = 1;
    Seconds each{};
    Seconds prompt_delay{};
  };

  struct Group {
    std::deque<QueuedRequest> waiting{};
    std::deque<Arriving> arriving{};  // one after the other
    Seconds links_free{};
    std::deque<Prompt> prompts{};    // admitted, not yet whole
    std::vector<Running> running{};  // heap by last_step
    double decode_steps = 0;
    // Requests that ended in the last step: an engine that composes a step while one runs still
    // holds their blocks.
    std::vector<Leaving> leaving{};
    double context = 0;   // of all that run
    double cached = 0;    // of prompts
    double unfilled = 0;  // tokens of these that are not in the cache yet
    double reserved = 0;  // tokens promised beyond what is there
    double held = 0;      // steps that prompts have been held back
    bool holds = false;   // in this step
    Seconds last_decode{};
    std::vector<Seconds> newcomers{};  // first tokens since then
    Seconds free{};                    // of a stream: its last step is over
    bool is_stepping = false;          // of a stream: its step is not over
    std::optional<Finished> pass{};    // that step, where its time is predicted
    // Of the step that is being made.
    Seconds start{};
    EngineStep step{};
    std::vector<std::size_t> finished{};  // places in prompts
    std::vector<PromptPart> parts{};
    std::vector<int> preempted{};
    std::vector<int> fetched{};
    bool is_cut = false;  // some running requests get too few tokens
    TracedStep traced{};
  };
  // Tokens of the cache that a request with so many takes.
  [[nodiscard]] double held(double tokens) const;
  // That the group's requests take, once each that runs has `more` tokens.
  [[nodiscard]] double used(const Group& group, double more) const;
  // Tells whether the cache has room for `more` tokens of each running request and for `beside`
  // tokens, in whole blocks.
  [[nodiscard]] bool fits(const Group& group, double more, double beside = 0.0) const;
  [[nodiscard]] double answer_left(const Group& group, const Running& one) const;
  [[nodiscard]] double context_of(const Group& group, const Running& one) const;
  [[nodiscard]] double limit_of(const QueuedRequest& request) const;
  [[nodiscard]] double requests_in(const Group& group) const;
  // Of all that share the group's cache.
  [[nodiscard]] double requests_beside(const Group& group) const;
  [[nodiscard]] double used_beside(const Group& group, double more) const;
  template <typename Of>
  [[nodiscard]] double sum_beside(const Group& group, Of of) const {
    if (!has_streams_) return of(group);
    double sum = 0;
    for (const Group& one : groups_) sum += of(one);
    return sum;
  }
  [[nodiscard]] std::optional<Seconds> start_of(const Group& group, Seconds clock) const;
  [[nodiscard]] double found_tokens(const Group& group, const QueuedRequest& request) const;
  // Tells whether a request has room. Its tokens beyond `found` fill at most `budget` rows a step.
  [[nodiscard]] bool has_room(const Group& group, const QueuedRequest& request, double found,
                              double budget) const;
  void take_in(Group& group, QueuedRequest& request);
  void put_back(Group& group, QueuedRequest request, double computed);
  bool admit(Group& group, double budget, Seconds decision);
  [[nodiscard]] std::size_t cache_of(const Group& group) const {
    return has_streams_ ? 0 : static_cast<std::size_t>(&group - groups_.data());
  }
  [[nodiscard]] const CachedPrefixes& prefixes_of(const Group& group) const {
    return prefixes_[cache_of(group)];
  }
  CachedPrefixes& prefixes_of(const Group& group) { return prefixes_[cache_of(group)]; }
  void begin_to_follow(const Group& group);
  void follow_prefixes(const Group& group, double more);
  void release(Group& group);
  void fetch(Group& group, Seconds start);
  void begin_arrived(Group& group, Seconds decision);
  void compose(Group& group, Seconds decision);
  [[nodiscard]] Seconds seen_until(Seconds decision, bool idle);
  [[nodiscard]] bool any_waits(const Group& group, Seconds decision) const;
  [[nodiscard]] bool waits_for_more(const Group& group, Seconds decision) const;
  [[nodiscard]] bool waits_for_balance(Seconds decision);
  void take_prompts(Group& group, double budget, Seconds decision);
  // vLLM preempts newer prompts for older requests; in other engines these wait for the prompts.
  [[nodiscard]] bool evicts_prompts() const {
    return rule_.full_cache == FullCache::recompute_newest;
  }
  // Preempts until the others have room. False: some running requests get no tokens in this step.
  bool make_room(Group& group);
  bool make_room_in_turn(Group& group);
  // Adds the running requests to the step, and returns their rows.
  double add_decodes(Group& group);
  // After the step: requests that got too few tokens end later.
  void make_up(Group& group);
  void preempt(Group& group, std::vector<Running>::iterator one);
  void preempt_prompt(Group& group);
  void trace_begin(Group& group, Seconds decision);
  void trace_end(Group& group, const Finished& finished);
  void end_group(Group& group, const Finished& finished);
  [[nodiscard]] double steps_that_fit(const Group& group, double steps) const;
  void start_decoding(Group& group, const QueuedRequest& request, Seconds now);
  void end_prompts(Group& group, Seconds end, Seconds delay);
  void end_decodes(Group& group, Seconds end, double steps, Seconds each);
  void end_steps(const Finished& finished, std::size_t stream);
  [[nodiscard]] double steps_alike(Seconds duration, Seconds limit) const;
  [[nodiscard]] bool is_alone(std::size_t stream) const;
  void compose_stream(Group& group, Seconds start);
  void end_pass(Group& group, const Finished& finished);
  void advance_streams(Seconds limit);
  void begin_pass(Seconds start, std::size_t stream, Seconds limit);
  [[nodiscard]] Seconds pass_stages(Seconds start, Seconds pass, double steps);

  const ServingReplica& replica_;
  const SchedulerRule& rule_;
  bool has_streams_;
  ServingRun& run_;
  std::vector<Group> groups_;
  std::size_t next_group_ = 0;
  double unbalanced_steps_ = 0, balanced_steps_ = 0;  // that prompts of data ranks were held back
  bool balancing_ = false;                            // in this step
  double blind_steps_ = 0;             // decode steps since the engine looked for new requests
  Seconds last_look_{};                // it knows the requests until then
  bool had_prompts_ = true;            // in the last step
  double capacity_ = 0, windows_ = 0;  // tokens: a group's cache; a request's windows
  double admitted_ = 0;
  std::vector<CachedPrefixes> prefixes_;  // one for each cache
  bool follows_prefixes_ = false;         // requests may find cached blocks
  Seconds clock_{}, start_{}, last_start_{}, busy_{};
  EngineStep slowest_{}, mean_{};  // of the groups, in the step that is being made
  bool was_idle_ = true;
  std::vector<Seconds> stage_free_;
  std::vector<StepEvent> first_tokens_, ends_;
};

}  // namespace meshwright
