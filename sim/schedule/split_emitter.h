// SPDX-License-Identifier: Apache-2.0
// Programs of the zero-bubble schedules: the weight gradient is its own instruction, done when
// nothing else can be.
#pragma once

#include <array>

#include "sim/schedule/instruction.h"

namespace meshwright {

// Emits instructions with running micro-batch numbers, one counter for each work and chunk.
// ZB-V is written for at least 2p-1 micro-batches; with fewer, the surplus ones are left out.
class SplitEmitter {
 public:
  explicit SplitEmitter(int micro_batches) : micro_batches_(micro_batches) {}

  void forward(int chunk) { emit(Pass::forward, chunk, forwards_); }
  void input(int chunk) { emit(Pass::backward_input, chunk, inputs_); }
  void weight(int chunk) { emit(Pass::backward_weight, chunk, weights_); }
  void input_and_weight(int chunk) {
    input(chunk);
    weight(chunk);
  }
  [[nodiscard]] int forwards(int chunk) const { return forwards_[index(chunk)]; }
  // Weight gradients whose input gradient has been emitted.
  void remaining_weights(int chunk) {
    while (weights_[index(chunk)] < inputs_[index(chunk)]) weight(chunk);
  }
  [[nodiscard]] StageProgram take() { return std::move(program_); }

 private:
  using Counts = std::array<int, 2>;
  static std::size_t index(int chunk) { return static_cast<std::size_t>(chunk); }

  void emit(Pass pass, int chunk, Counts& counts) {
    const int micro_batch = counts[index(chunk)]++;
    if (micro_batch < micro_batches_) program_.push_back({pass, false, micro_batch, chunk});
  }

  int micro_batches_;
  Counts forwards_{}, inputs_{}, weights_{};
  StageProgram program_;
};

// One chunk a stage: forwards before the first backward, and by how many micro-batches weight
// gradients lag behind input gradients. Their sum is what the stage holds.
inline StageProgram split_program(int warmup, int weight_lag, int micro_batches) {
  SplitEmitter emit(micro_batches);
  for (int i = 0; i < warmup; ++i) emit.forward(0);
  for (int i = 0; i < micro_batches; ++i) {
    emit.input(0);
    if (i >= weight_lag) emit.weight(0);
    emit.forward(0);
  }
  emit.remaining_weights(0);
  return emit.take();
}

}  // namespace meshwright
