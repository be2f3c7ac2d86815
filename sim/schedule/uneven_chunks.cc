// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/uneven_chunks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace meshwright {
namespace {

constexpr int kFirstGroups = 6;
constexpr double kSame = 1e-12;  // of a group's time

using Warmup = int (*)(const PipelineSizes&, int stage);

// Where a stage stands in its order of forwards, or of backwards: groups of p micro-batches go
// through all of its chunks.
struct Turn {
  int chunk = 0;  // of the stage, in the order of this pass
  int first = 0;  // micro-batch of the group
  int next = 0;   // micro-batch
  // True after the last of a group.
  bool advance(int stages, int chunks) {
    if (++next < first + stages) return false;
    const bool done = ++chunk == chunks;
    if (done) {
      chunk = 0;
      first += stages;
    }
    next = first;
    return done;
  }
};

struct StageQueue {
  int ahead = 0;                    // forwards that may run before the next backward
  int forwards = 0, backwards = 0;  // left
  Turn forward, backward;
  double free_at = 0.0;
  std::vector<double> group_ends;  // of backwards
};

// Stages take turns; each runs as far as its inputs have arrived.
class Run {
 public:
  Run(const PipelineLoad& pipeline, int micro_batches, Warmup warmup)
      : p_(pipeline.num_stages),
        v_(pipeline.chunks),
        m_(micro_batches),
        forward_end_(static_cast<std::size_t>(p_ * v_) * static_cast<std::size_t>(m_), kPending),
        backward_end_(forward_end_),
        stages_(static_cast<std::size_t>(p_)) {
    for (int s = 0; s < p_; ++s) {
      StageQueue& stage = stages_[static_cast<std::size_t>(s)];
      stage.ahead = warmup({p_, m_, v_}, s) + 1;
      stage.forwards = stage.backwards = m_ * v_;
    }
    // With the transfer, during which the sender computes nothing.
    const auto chunks = pipeline.uneven_chunks;
    const double send = pipeline.send.value();
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      const double forward_send = c + 1 < chunks.size() ? send * chunks[c].forward_sends : 0.0;
      const double backward_send = c > 0 ? send * chunks[c].backward_sends : 0.0;
      forward_.push_back(chunks[c].forward.value() + forward_send);
      backward_.push_back(chunks[c].backward.value() + backward_send);
    }
  }

  double total() {
    int left = 2 * p_ * v_ * m_;
    while (left > 0) {
      for (int s = 0; s < p_; ++s) left -= run_stage(s);
      for (int s = p_; s-- > 0;) left -= run_stage(s);
    }
    double last = 0.0;
    for (const StageQueue& stage : stages_) last = std::max(last, stage.free_at);
    return last;
  }

  // Seconds of one more group, where all stages have come to take the same for each: from there on
  // they repeat themselves. In the last groups no forward runs any more.
  [[nodiscard]] std::optional<double> group_time() const {
    const auto last = static_cast<std::size_t>(m_ / p_ - 3);
    const std::vector<double>& first_stage = stages_.front().group_ends;
    const double time = first_stage[last] - first_stage[last - 1];
    for (const StageQueue& stage : stages_) {
      for (const std::size_t g : {last, last - 1}) {
        const double here = stage.group_ends[g] - stage.group_ends[g - 1];
        if (std::abs(here - time) > kSame * stage.group_ends[g]) return std::nullopt;
      }
    }
    return time;
  }

 private:
  static constexpr double kPending = -1.0;

  int run_stage(int stage) {
    StageQueue& state = stages_[static_cast<std::size_t>(stage)];
    int done = 0;
    while (state.forwards > 0 && state.ahead > 0 ? run_forward(stage, state)
                                                 : run_backward(stage, state)) {
      ++done;
    }
    return done;
  }

  bool run_forward(int stage, StageQueue& state) {
    const int chunk = state.forward.chunk * p_ + stage;
    const double input = chunk == 0 ? 0.0 : forward_end_[cell(chunk - 1, state.forward.next)];
    if (input == kPending) return false;
    state.free_at = std::max(state.free_at, input) + forward_[static_cast<std::size_t>(chunk)];
    forward_end_[cell(chunk, state.forward.next)] = state.free_at;
    state.forward.advance(p_, v_);
    --state.forwards;
    --state.ahead;
    return true;
  }

  bool run_backward(int stage, StageQueue& state) {
    if (state.backwards == 0) return false;
    const int chunk = (v_ - 1 - state.backward.chunk) * p_ + stage;
    const double input = chunk + 1 == p_ * v_ ? forward_end_[cell(chunk, state.backward.next)]
                                              : backward_end_[cell(chunk + 1, state.backward.next)];
    if (input == kPending) return false;
    state.free_at = std::max(state.free_at, input) + backward_[static_cast<std::size_t>(chunk)];
    backward_end_[cell(chunk, state.backward.next)] = state.free_at;
    if (state.backward.advance(p_, v_)) state.group_ends.push_back(state.free_at);
    --state.backwards;
    ++state.ahead;
    return true;
  }

  [[nodiscard]] std::size_t cell(int chunk, int micro_batch) const {
    return static_cast<std::size_t>(chunk) * static_cast<std::size_t>(m_) +
           static_cast<std::size_t>(micro_batch);
  }

  int p_, v_, m_;
  std::vector<double> forward_, backward_;          // seconds of each chunk of the model
  std::vector<double> forward_end_, backward_end_;  // [model chunk][micro-batch]
  std::vector<StageQueue> stages_;
};

}  // namespace

Seconds uneven_total(const PipelineLoad& pipeline, int micro_batches, Warmup warmup) {
  const int groups = micro_batches / pipeline.num_stages;
  for (int some = kFirstGroups; some < groups; some *= 2) {
    Run run(pipeline, some * pipeline.num_stages, warmup);
    const double total = run.total();
    if (const auto more = run.group_time()) return seconds(total + (groups - some) * *more);
  }
  return seconds(Run(pipeline, micro_batches, warmup).total());
}

}  // namespace meshwright
