// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/dual_program.h"

#include <algorithm>
#include <utility>

namespace meshwright {
namespace {

// `near` is the direction whose entrance is closer to this stage, `far` the other one.
class DualEmitter {
 public:
  explicit DualEmitter(const DualStage& stage)
      : near_(stage.near_chunk), first_(stage.first_micro_batch), near_side_{}, far_side_{} {}

  void forward_near() { emit(Pass::forward, near_, near_side_.forwards); }
  void forward_far() { emit(Pass::forward, 1 - near_, far_side_.forwards); }
  void backward_near(bool split) { backward(near_, near_side_.backwards, split); }
  void backward_far(bool split) { backward(1 - near_, far_side_.backwards, split); }
  void near_with_far_backward() {
    forward_near();
    program_.back().with_next = true;
    backward_far(false);
  }
  void far_with_near_backward() {
    forward_far();
    program_.back().with_next = true;
    backward_near(false);
  }
  // The oldest weight gradient still deferred.
  void weight() {
    Instruction deferred = deferred_[next_deferred_++];
    deferred.pass = Pass::backward_weight;
    program_.push_back(deferred);
  }
  [[nodiscard]] StageProgram take() { return std::move(program_); }

 private:
  struct Side {
    int forwards = 0, backwards = 0;
  };

  void emit(Pass pass, int chunk, int& count) {
    program_.push_back({pass, false, first_[static_cast<std::size_t>(chunk)] + count++, chunk});
  }
  void backward(int chunk, int& count, bool split) {
    emit(split ? Pass::backward_input : Pass::backward, chunk, count);
    if (split) deferred_.push_back(program_.back());
  }

  int near_;
  std::array<int, 2> first_;
  Side near_side_, far_side_;
  std::vector<Instruction> deferred_;
  std::size_t next_deferred_ = 0;
  StageProgram program_;
};

}  // namespace

StageProgram dual_program(const DualStage& stage) {
  const auto [depth, inner, rounds, near_chunk, first] = stage;
  DualEmitter emit(stage);

  for (int i = 0; i < 2 * inner; ++i) emit.forward_near();
  for (int i = 0; i <= depth; ++i) {
    emit.forward_near();
    emit.forward_far();
  }
  for (int i = 0; i < inner; ++i) {
    emit.backward_far(true);
    emit.weight();
    emit.forward_far();
  }
  for (int i = 0; i < rounds; ++i) {
    emit.near_with_far_backward();
    emit.far_with_near_backward();
  }
  for (int i = 0; i < inner; ++i) {
    emit.backward_far(false);
    emit.far_with_near_backward();
  }
  // The second half of the last 2(depth+1) backward passes leave their weight gradients for the
  // end.
  for (int i = 0; i < 2 * (depth + 1); ++i) {
    const bool split = i > depth;
    if (i % 2 == 0) {
      emit.backward_far(split);
    } else {
      emit.backward_near(split);
    }
  }
  for (int i = 0; i < inner; ++i) {
    emit.weight();
    emit.backward_near(true);
  }
  for (int i = 0; i <= depth; ++i) emit.weight();
  return emit.take();
}

int dual_sends(const DualStage& stage, int micro_batches_of_chunk, const DualEnds& leaves) {
  const auto count = [](bool first, bool second = false) {
    return (first ? 1 : 0) + (second ? 1 : 0);
  };
  const int passes = count(leaves.near_forward, leaves.near_backward) +
                     count(leaves.far_forward, leaves.far_backward);
  const int near_pairs = leaves.near_forward && leaves.far_backward ? stage.rounds : 0;
  const int far_pairs = leaves.far_forward && leaves.near_backward ? stage.rounds + stage.inner : 0;
  return passes * micro_batches_of_chunk - near_pairs - far_pairs;
}

Seconds dual_bubble(int inner_stages, const PassTimes& times) {
  const Seconds f = times.forward, b = times.backward_input, w = times.backward_weight;
  return static_cast<double>(inner_stages) * (f + std::max(f, b) + std::max(b - w, Seconds{}));
}

}  // namespace meshwright
