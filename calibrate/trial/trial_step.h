// SPDX-License-Identifier: Apache-2.0
// One training step of one rank: its micro-batches in the schedule's order, then the gradients'
// reductions and the optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calibrate/trial/context.h"
#include "calibrate/trial/stage_model.h"
#include "sim/schedule/schedule.h"

namespace meshwright::calibrate {

class TrialStep {
 public:
  // Collective over `ranks`, exactly world_size(layout) of them. The layout is legal and
  // trial_unsupported() has nothing against it.
  TrialStep(const Model& model, const Job& job, const Layout& layout, Compute& compute,
            Communicator& ranks, float learning_rate, std::uint64_t seed);
  TrialStep(const TrialStep&) = delete;
  TrialStep& operator=(const TrialStep&) = delete;

  void run();

  // Mean over the global batch before the last step's update; on ranks of the last stage, else 0.
  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] const ParameterStore& store() const { return store_; }
  [[nodiscard]] const Recorder& recorder() const { return recorder_; }
  [[nodiscard]] Bytes memory() const { return arena_.allocated(); }
  [[nodiscard]] const RankGroups& groups() const { return groups_; }

 private:
  [[nodiscard]] bool first_stage() const { return groups_.at.pipeline == 0; }
  [[nodiscard]] bool last_stage() const {
    return groups_.at.pipeline == layout_.pipeline_parallel_size - 1;
  }
  [[nodiscard]] std::int64_t border_count() const {
    return context_.local_rows() * context_.hidden();
  }
  void measure_neighbours();
  void forward(int micro_batch);
  void backward(int micro_batch);
  [[nodiscard]] Tensor receive(int from, double transfer_seconds);
  void send(const char* name, Phase phase, Tensor activation, int to);
  void finish_sends();
  void reduce_loss();
  void reduce_shared_gradients();
  void reduce_gradients_and_update();
  void update_shard(const AdamStep& adam);

  Model model_;
  Job job_;
  Layout layout_;
  Compute& compute_;
  Arena arena_;
  Recorder recorder_;
  RankGroups groups_;
  TrialContext context_;
  ParameterStore store_;
  std::optional<StageModel> stage_;
  std::vector<MicroBatch> batches_;
  StageProgram program_;
  std::vector<Tensor> sent_;  // read by the network until finish_sends()
  double previous_transfer_ = 0.0, next_transfer_ = 0.0;  // seconds of one border message
  float learning_rate_;
  int steps_done_ = 0;
  double loss_ = 0.0;
};

}  // namespace meshwright::calibrate
