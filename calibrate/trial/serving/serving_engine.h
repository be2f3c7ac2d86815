// SPDX-License-Identifier: Apache-2.0
// One replica that serves: continuous batching over a paged cache. Which requests a step takes is
// decided by the scheduler of the event simulation (sim/serving/replica_simulation.h), whose clock
// here is that of the replica's first rank. Every rank runs the same scheduler.
#pragma once

#include <cstdint>
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
  ServingEngine(const ServingScenario& scenario, Compute& compute, Communicator& ranks,
                const ServingModelOptions& options);

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
  // Prompt and answer of a request of the load.
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
  // What a pass gave to a sequence.
  struct Given {
    int request = 0;
    std::int64_t computed = 0;
    std::optional<std::int32_t> token;
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
  [[nodiscard]] std::vector<SequenceInput> inputs();
  void record_step(Seconds begin);
  void give_tokens(Seconds now);
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
  std::vector<Given> given_;  // by the step that runs
  bool runs_step_ = false;
  std::vector<int> indices_;
  ServingRun run_;
  std::vector<ObservedServingStep> steps_;
};

}  // namespace meshwright::calibrate
