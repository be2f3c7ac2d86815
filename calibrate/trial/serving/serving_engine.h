// SPDX-License-Identifier: Apache-2.0
// One replica that serves: continuous batching over a paged cache. Which requests a step takes is
// decided by the scheduler of the event simulation (sim/serving/replica_simulation.h), whose clock
// here is that of the replica's first rank. Every rank runs the same scheduler.
//
// Pipeline stages do what the simulation assumes (step_duration, sim/serving/scheduler.h): a step
// is composed whole, gives one token to each sequence that decodes, and is cut into one batch a
// stage. A request keeps its batch. The next step begins when the first batch is back, or when it
// is sent if it gives no token; the other batches are still on their way. So a step lasts as long
// as a batch takes through all stages, and each stage has a batch. At most one batch a stage is on
// its way.
//   vLLM (v1/engine/core.py, step_with_batch_queue) composes each batch by itself, and gives each
//   the whole token budget; the simulation has one budget a step, and so has this engine. The
//   simulation lets a prompt hold up the next step for one stage's share of it. Here sequences that
//   decode in the prompt's batch wait until the prompt has passed all stages.
// The scheduler ends requests, and gives their blocks away, when the next step begins, where a pass
// of theirs may still be on its way. That is safe: each stage makes its passes in the order in
// which they set out, so whoever gets a block writes it after its last reader.
//   All ranks make the same calls in the same order. A step's clock comes from the first rank, and
//   a
// rank of a later stage takes it behind its passes of the step before. That wait, too, is for an
// earlier place in the order of serving_model.h.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "calibrate/trial/serving/request_flow.h"
#include "calibrate/trial/serving/serving_model.h"
#include "calibrate/trial/serving/step_account.h"
#include "sim/serving/replica_simulation.h"

namespace meshwright::calibrate {

// The requests of a load that a replica serves: those at first, first + stride, ...: a router that
// takes replicas in turn.
struct ServedShare {
  std::size_t first = 0, stride = 1;
};

class ServingEngine {
 public:
  // Collective over `ranks`, exactly those of one replica. The scenario's options have no defaults
  // left, and serving_unsupported() has nothing against them.
  // The engine refers to the scenario.
  ServingEngine(const ServingScenario& scenario, Compute& compute, Communicator& ranks,
                const ServingModelOptions& options);
  ServingEngine(ServingScenario&& scenario, Compute& compute, Communicator& ranks,
                const ServingModelOptions& options) = delete;

  // Serves a load from its first request to its last; collective. Empty cache before and after.
  // With a flow the requests are those that it brings.
  void run(const ServingLoad& load, ServedShare share = {}, RequestFlow* flow = nullptr);

  // Of the last run.
  [[nodiscard]] const std::vector<int>& requests() const { return indices_; }
  [[nodiscard]] const ServingRun& observed() const { return run_; }  // timings as requests()
  [[nodiscard]] const std::vector<ObservedServingStep>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<ServedTransfer>& transfers() const {
    return account_->transfers();
  }
  // Prompt and answer of a request of the load. With stages: on ranks of the first and the last
  // one.
  [[nodiscard]] const std::vector<std::int32_t>& tokens_of(int request) const;
  [[nodiscard]] std::int64_t blocks_used() const { return pool_.used(); }
  [[nodiscard]] const ServingModel& model() const { return model_; }

 private:
  struct Served {
    std::vector<std::int32_t> tokens;  // prompt, and what has been answered
    std::int64_t cached = 0;
    BlockTable blocks;
    RequestTiming timing{};
    Seconds last_token{};
    int batch = -1;              // none yet
    std::int64_t gives_in = -1;  // the latest pass that gives it a token
  };
  // Rows of one sequence in a pass, which may give its next token.
  struct Part {
    int request = 0;
    std::int64_t count = 1;
    bool gives = true, decodes = true;
  };
  using Batch = std::vector<Part>;
  // A pass whose tokens are not known yet, or not given out.
  struct Pass {
    std::int64_t number = 0;  // of the run
    Batch parts;
    std::vector<std::int32_t> tokens;  // of each part, where this rank has them
  };
  // Tokens that are known, and when they were.
  struct Answer {
    int request = 0;
    bool first = false, last = false;
  };
  struct Returned {
    std::vector<Answer> answers;
    double when = 0;  // seconds since the run's begin, by the first rank's clock
  };

  void start(const ServingLoad& load, ServedShare share);
  [[nodiscard]] Seconds shared_clock();
  void ask(std::size_t request, Seconds arrival, Seconds now,
           std::optional<std::int32_t> first_token = {});
  void ask_next(Seconds arrival);
  void ask_arrived(Seconds now);
  [[nodiscard]] Seconds take_in(Seconds now);
  [[nodiscard]] bool wait_for_work(Seconds now);
  void run_step(Seconds begin);
  void finish_step(Seconds end);
  [[nodiscard]] bool has_stages() const { return model_.stages() > 1; }
  [[nodiscard]] int batch_of(int request, int fewest);
  [[nodiscard]] std::vector<Batch> composed_batches();
  // Returns what the ledger takes it for.
  EngineStep run_pass(const Batch& batch);
  // The oldest pass: its tokens become its sequences'.
  void take_back();
  void take_back_until(std::int64_t number);
  void await_first_batch();
  void record_step(Seconds begin, const std::vector<EngineStep>& passes);
  void give_tokens(Seconds now);
  void end(const StepEvent& event);
  void ask_behind_ended();
  [[nodiscard]] Served& served(int request);

  const ServingScenario& scenario_;
  Communicator& ranks_;
  RequestFlow* flow_ = nullptr;  // of the run
  std::uint64_t seed_;
  Precision precision_;
  BlockPool pool_;
  ServingModel model_;
  ServingReplica replica_;  // what the scheduler knows of it

  ServingLoad load_;
  std::vector<ServingRequest> asked_;
  ServedShare share_;
  std::size_t next_ = 0;  // request of the load
  double begin_ = 0;      // of the run, by the first rank's clock
  std::optional<ReplicaSimulation> scheduler_;
  ServingRun scheduled_;  // the scheduler's account
  std::optional<StepAccount> account_;
  std::vector<Served> served_;
  bool runs_step_ = false;
  bool has_passes_ = false;         // the step that runs
  std::vector<int> in_batch_;       // requests of each batch
  std::deque<Pass> on_the_way_;     // oldest first
  std::int64_t next_pass_ = 0;      // number
  std::int64_t first_giving_ = -1;  // number of the step's first pass, if that gives tokens
  std::vector<Returned> returned_;  // since tokens were given out last
  std::vector<StepEvent> ended_;    // with stages: requests whose last token is given out
  std::vector<int> indices_;
  ServingRun run_;
  std::vector<ObservedServingStep> steps_;
};

}  // namespace meshwright::calibrate
