// SPDX-License-Identifier: Apache-2.0
// One micro-batch on its way forward or back through a stage's chunk, and two on their ways
// together.
//
// overlap_moe_expert_parallel_comm takes a forward and a backward in turns, layer by layer: while
// tokens of the one travel, the other is computed (Megatron-LM
// models/common/model_chunk_schedule_plan.py, TransformerLayerSchedulePlan):
//   communication: combine gradient | dispatch         | dispatch gradient | combine
//   computing:     forward attention | backward experts | forward experts   | backward attention
// Ranks whose calls block do first the one, then the other.
#pragma once

#include "calibrate/trial/stage/stage_model.h"
#include "sim/schedule/instruction.h"

namespace meshwright::calibrate {

class ForwardPass {
 public:
  // x: the activation from the chunk before; empty on the first. end() gives what the next chunk
  // needs; empty on the last.
  ForwardPass(StageModel& model, const Instruction& instruction, const MicroBatch& data, Tensor x);

  void begin();
  [[nodiscard]] bool has_layer() const { return layer_ < model_.layers_.size(); }
  // The parts of the layer that is next (Layer).
  void attend();
  void dispatch();
  void compute_experts();
  void combine();
  [[nodiscard]] Tensor end();

 private:
  [[nodiscard]] TermScope work() const;
  [[nodiscard]] LayerSaved& saved() const { return saved_.layers[layer_]; }

  StageModel& model_;
  Instruction instruction_;
  const MicroBatch& data_;
  StageModel::Saved& saved_;
  Tensor x_;
  std::size_t layer_ = 0;
  LayerForward in_layer_;
};

class BackwardPass {
 public:
  // dy: the gradient from the chunk after; empty on the last. end() gives the gradient for the
  // chunk before; empty on the first.
  BackwardPass(StageModel& model, const Instruction& instruction, const MicroBatch& data,
               Tensor dy);

  void begin();
  [[nodiscard]] bool has_layer() const { return layers_left_ > 0; }
  void combine_gradient();
  void experts_backward();
  void dispatch_gradient();
  void attend_backward();
  [[nodiscard]] Tensor end();

 private:
  [[nodiscard]] TermScope work() const;
  [[nodiscard]] std::size_t layer() const { return layers_left_ - 1; }

  StageModel& model_;
  Instruction instruction_;
  const MicroBatch& data_;
  StageModel::Saved saved_;
  Tensor dy_;
  std::size_t layers_left_;
  LayerSaved of_layer_;
  LayerBackward in_layer_;
};

// Alone, to the end.
[[nodiscard]] Tensor run(ForwardPass pass);
[[nodiscard]] Tensor run(BackwardPass pass);

struct PairResult {
  Tensor forward, backward;
};
[[nodiscard]] PairResult run_together(ForwardPass forward, BackwardPass backward);

}  // namespace meshwright::calibrate
