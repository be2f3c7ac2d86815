// SPDX-License-Identifier: Apache-2.0
// One replica that serves: continuous batching over a paged cache. Which requests a step takes is
// decided by the scheduler of the event simulation (sim/serving/replica_simulation.h), whose clock
// here is that of the replica's first rank. Every rank runs the same scheduler.
//
// With pipeline stages each of them has a stream of requests, as in the simulation. The streams
// take turns: one composes its next step when its pass before is back, and while that is on a later
// stage the other streams' passes follow. So each stage has a pass.
//   All ranks make the same calls in the same order. A step's clock comes from the first rank, and
//   a
// rank of a later stage takes it behind its passes of the steps before. That wait, too, is for an
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
  };
  // Rows of one sequence in a pass, which may give its next token.
  struct Part {
    int request = 0;
    std::int64_t count = 1;
    bool gives = true, decodes = true;
  };
  // A stream's step that is not over. One that has nothing to compute has no parts.
  struct Pass {
    std::vector<Part> parts;
    std::vector<std::int32_t> tokens;  // of each part, where this rank has them
    std::size_t step = 0;              // place in steps_
  };

  void start(const ServingLoad& load, ServedShare share);
  [[nodiscard]] Seconds shared_clock();
  void ask(std::size_t request, Seconds arrival, Seconds now,
           std::optional<std::int32_t> first_token = {});
  void ask_next(Seconds arrival);
  void ask_arrived(Seconds now);
  [[nodiscard]] Seconds take_in(Seconds now);
  [[nodiscard]] bool wait_for_work(std::size_t stream, Seconds now);
  void run_step(std::size_t stream, Seconds begin);
  void run_pass(Pass& pass, std::size_t stream, Seconds begin);
  // Waits for the tokens of the stream's pass, if one is on its way.
  void take_back(std::size_t stream);
  void finish_step(std::size_t stream, Seconds end);
  void give_token(const Part& part, std::int32_t token, Seconds now);
  [[nodiscard]] bool has_stages() const { return model_.stages() > 1; }
  [[nodiscard]] std::vector<Part> composed_parts(std::size_t stream);
  void record_step(Seconds begin, const EngineStep& step, const EngineStep& pass);
  void end(const StepEvent& event);
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
  std::vector<std::optional<Pass>> passes_;  // of each stream
  std::vector<int> indices_;
  ServingRun run_;
  std::vector<ObservedServingStep> steps_;
};

}  // namespace meshwright::calibrate
