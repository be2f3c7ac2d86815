// SPDX-License-Identifier: Apache-2.0
// What every part of the trial's model needs to know on this rank, and the two moves between a
// whole sequence and a rank's share of it.
#pragma once

#include "calibrate/backends/compute.h"
#include "calibrate/trial/arena.h"
#include "calibrate/trial/parameters.h"
#include "calibrate/trial/rank_groups.h"
#include "calibrate/trial/recorder.h"
#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

struct TrialContext {
  const Model& model;
  const Job& job;
  const Layout& layout;
  Compute& compute;
  Arena& arena;
  Recorder& recorder;
  RankGroups& groups;
  // Of each sequence, what a pass works on: all of a training job's, or a prompt, or the next one.
  std::int64_t positions;
  std::int64_t first_position = 0;
  const float* rotary_table = nullptr;  // of the model's head width, when its positions are rotary

  // Activations are (positions, batch, width). Under sequence parallelism norms and residuals work
  // on `rows` / t of them.
  [[nodiscard]] std::int64_t rows() const { return positions * layout.micro_batch_size; }
  [[nodiscard]] std::int64_t local_rows() const {
    return layout.sequence_parallel ? rows() / layout.tensor_parallel_size : rows();
  }
  [[nodiscard]] std::int64_t local_positions() const {
    return local_rows() / layout.micro_batch_size;
  }
  [[nodiscard]] std::int64_t hidden() const { return model.hidden_size; }
  // Selective recompute runs this module again in backward.
  [[nodiscard]] bool recomputes(RecomputeModule module) const {
    return recomputes_module(layout, module);
  }
  [[nodiscard]] Tensor tensor(std::int64_t count) const { return {arena, count}; }
};

// c = a b, a is m x k, b is k x n.
GemmCall product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                 float* c);

// A product on the job's number format. Operands are fp32 in memory; a 16-bit format gets copies of
// them, and fp32 results. Matrices of a batch follow each other without gaps where the call has no
// stride.
void multiply(const TrialContext& context, GemmCall call);

// All rows of x (local_rows x cols): x itself, or gathered from the tensor ranks.
class WholeSequence {
 public:
  WholeSequence(const TrialContext& context, const float* x, std::int64_t cols,
                std::string_view name, Phase phase);
  [[nodiscard]] const float* data() const { return data_; }

 private:
  Tensor gathered_;
  const float* data_;
};

// The sum of `partial` (rows x cols) over the tensor ranks: all of it, or this rank's rows.
Tensor reduce_sequence(const TrialContext& context, Tensor partial, std::int64_t cols,
                       std::string_view name, Phase phase);

}  // namespace meshwright::calibrate
