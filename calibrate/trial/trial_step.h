// SPDX-License-Identifier: Apache-2.0
// One training step of one rank: its micro-batches in the schedule's order, then the gradients'
// reductions and the optimizer.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/trial/layer/routing.h"
#include "calibrate/trial/layer/weight_gradient_store.h"
#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/stage/stage_exchange.h"
#include "calibrate/trial/stage/stage_model.h"
#include "calibrate/trial/stage/stage_pass.h"
#include "calibrate/trial/states/host_store.h"
#include "calibrate/trial/states/sharded_states.h"
#include "calibrate/trial/states/whole_states.h"
#include "sim/schedule/schedule.h"

namespace meshwright::calibrate {

struct StepOptions {
  float learning_rate = 1e-3F;
  std::uint64_t seed = 1234;
  // Fills memory with numbers that are not numbers when it is given back, so that a test sees what
  // reads something that is gone, or that nothing has written.
  bool poison_memory = false;
  // Device memory that the step allocates at most; TrialStep::out_of_memory() says that it did not
  // do.
  Bytes memory_limit = Arena::no_limit();
  // Tokens are dealt out to experts in turn; else they go where the router sends them.
  bool moe_router_force_load_balancing = true;
};

class TrialStep {
 public:
  // Collective over `ranks`, exactly world_size(layout) of them. The layout is legal and
  // trial_unsupported() has nothing against it.
  TrialStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
            Communicator& ranks, const StepOptions& options);
  // The same on communicators that are there already.
  TrialStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
            const Communicator& ranks, const GroupCommunicators& made, const StepOptions& options);
  TrialStep(const TrialStep&) = delete;
  TrialStep& operator=(const TrialStep&) = delete;

  void run();
  // Whole weights where ranks hold shards between the steps; collective, for whoever looks at them
  // after the last step.
  void gather_weights();

  // Tells whether this rank's stage has the model's head.
  [[nodiscard]] bool has_loss() const;
  // Mean over the global batch before the last step's update; 0 where the head is elsewhere.
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] const ParameterStore& store() const { return store_; }
  [[nodiscard]] const Recorder& recorder() const { return recorder_; }
  [[nodiscard]] Recorder& recorder() { return recorder_; }
  // The most that was in use at once: weights, gradients, optimizer states, data, activations.
  [[nodiscard]] Bytes peak_memory() const { return arena_.peak(); }
  // What this rank's device said when it was full; empty: it never was.
  [[nodiscard]] const std::string& out_of_memory() const { return arena_.out_of_memory(); }
  // Copies of the last step to the host and back.
  [[nodiscard]] const HostStore& host() const { return host_; }
  [[nodiscard]] const RankGroups& groups() const { return groups_; }

 private:
  void make_chunks();
  [[nodiscard]] bool mirrors_order() const;
  [[nodiscard]] StageModel& chunk(int index);  // of the stage's, as its program counts them
  [[nodiscard]] KeptStates kept_states() const;
  void find_last_passes();
  void zero_gradients();
  [[nodiscard]] bool runs_with_next(std::size_t instruction) const;
  void run(const Instruction& instruction);
  // Returns the result of the instruction on its input.
  [[nodiscard]] Tensor compute(const Instruction& instruction, Tensor input);
  void run_pair(const Instruction& forward, const Instruction& backward);
  [[nodiscard]] ForwardPass forward_pass(const Instruction& instruction, Tensor x);
  [[nodiscard]] BackwardPass backward_pass(const Instruction& instruction, Tensor dy);
  void reduce_loss();
  void reduce_shared_gradients();
  void update();

  Model model_;
  Job job_;
  Layout layout_;
  Compute& compute_;
  Arena arena_;
  Recorder recorder_;
  HostStore host_;
  RankGroups groups_;
  BalancedRoutes balanced_;
  TrialContext context_;
  ParameterStore store_;
  std::optional<ShardedStates> states_;
  std::optional<WholeStates> whole_states_;  // where states_ are not
  Tensor rotary_;
  std::deque<StageModel> chunks_;      // in the model's order
  Parameter* shared_words_ = nullptr;  // the embedding's matrix where another stage has it, too
  std::vector<MicroBatch> batches_;
  WeightGradientStore deferred_;
  StageProgram program_;
  std::vector<bool> last_of_chunk_;  // of each instruction: the last that gives its chunk gradients
  std::optional<StageExchange> exchange_;
  StepOptions options_;
  int steps_done_ = 0;
  double loss_ = 0.0;
};

}  // namespace meshwright::calibrate
