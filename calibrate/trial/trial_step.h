// SPDX-License-Identifier: Apache-2.0
// One training step of one rank: its micro-batches in the schedule's order, then the gradients'
// reductions and the optimizer.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "calibrate/trial/context.h"
#include "calibrate/trial/sharded_states.h"
#include "calibrate/trial/stage_model.h"
#include "sim/schedule/schedule.h"

namespace meshwright::calibrate {

struct StepOptions {
  float learning_rate = 1e-3F;
  std::uint64_t seed = 1234;
  // Fills memory that is given back with numbers that are not numbers, so that a test sees what
  // reads something that nothing has written.
  bool poison_memory = false;
  // Tokens are dealt out to experts in turn; else they go where the router sends them.
  bool moe_router_force_load_balancing = true;
};

class TrialStep {
 public:
  // Collective over `ranks`, exactly world_size(layout) of them. The layout is legal and
  // trial_unsupported() has nothing against it.
  TrialStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
            Communicator& ranks, const StepOptions& options);
  TrialStep(const TrialStep&) = delete;
  TrialStep& operator=(const TrialStep&) = delete;

  void run();
  // Whole weights where ranks hold shards between the steps; collective, for whoever looks at them
  // after the last step.
  void gather_weights();

  // Mean over the global batch before the last step's update; on ranks of the last stage, else 0.
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] const ParameterStore& store() const { return store_; }
  [[nodiscard]] const Recorder& recorder() const { return recorder_; }
  [[nodiscard]] Recorder& recorder() { return recorder_; }
  // The most that was in use at once: weights, gradients, optimizer states, data, activations.
  [[nodiscard]] Bytes peak_memory() const { return arena_.peak(); }
  [[nodiscard]] const RankGroups& groups() const { return groups_; }

 private:
  // Stages before and after this one; interleaved chunks go round.
  [[nodiscard]] int previous() const;
  [[nodiscard]] int next() const;
  [[nodiscard]] bool goes_round() const { return chunks_.size() > 1; }
  [[nodiscard]] std::int64_t border_count() const {
    return context_.local_rows() * context_.hidden();
  }
  void make_chunks();
  [[nodiscard]] KeptStates kept_states() const;
  void measure_neighbours();
  void forward(const Instruction& instruction);
  void backward(const Instruction& instruction);
  [[nodiscard]] Tensor receive(CountedGroup& ranks, std::string_view name, int from,
                               double transfer_seconds);
  void send(CountedGroup& ranks, std::string_view name, Phase phase, Tensor activation, int to);
  void before_computing();
  void finish_sends();
  void reduce_loss();
  void reduce_shared_gradients();
  void reduce_gradients_and_update();
  void update_whole(const ParameterUnit& unit, const AdamStep& adam);
  void update_shard(const ParameterUnit& unit, const AdamStep& adam);

  Model model_;
  Job job_;
  Layout layout_;
  Compute& compute_;
  Arena arena_;
  Recorder recorder_;
  RankGroups groups_;
  TrialContext context_;
  ParameterStore store_;
  std::optional<ShardedStates> states_;
  Tensor rotary_;
  std::deque<StageModel> chunks_;
  std::vector<MicroBatch> batches_;
  StageProgram program_;
  std::vector<Tensor> sent_;  // read by the network until finish_sends()
  double previous_transfer_ = 0.0, next_transfer_ = 0.0;  // seconds of one border message
  StepOptions options_;
  int steps_done_ = 0;
  double loss_ = 0.0;
};

}  // namespace meshwright::calibrate
