// SPDX-License-Identifier: Apache-2.0
// What every part of the trial's model needs to know on this rank, and the two moves between a
// whole sequence and a rank's share of it.
#pragma once

#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/trial/ranks/arena.h"
#include "calibrate/trial/ranks/message_format.h"
#include "calibrate/trial/ranks/rank_groups.h"
#include "calibrate/trial/ranks/recorder.h"
#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

class HostStore;
class ShardedStates;
class WholeStates;
class WeightGradientStore;
struct BalancedRoutes;

struct TrialContext {
  const Model& model;
  const Job& job;
  const Layout& layout;
  Compute& compute;
  Arena& arena;
  Recorder& recorder;
  RankGroups& groups;
  // Tokens of each sequence in one pass: all of a training job, a context rank's share, a prompt,
  // or the next token.
  std::int64_t positions;
  std::int64_t first_position = 0;
  const float* rotary_table = nullptr;  // of the model's head width, when its positions are rotary
  ShardedStates* states = nullptr;      // where weights or gradients are whole for a unit at a time
  WholeStates* whole_states = nullptr;  // else this
  WeightGradientStore* deferred = nullptr;  // of passes that leave weight gradients for later
  bool force_load_balancing = true;         // tokens are dealt out to experts in turn
  BalancedRoutes* balanced = nullptr;       // then, where passes may keep what they found
  HostStore* host = nullptr;                // where activations or an optimizer's states go there

  // Activations are (positions, batch, width). Under sequence parallelism norms and residuals work
  // on `rows` / t of them.
  [[nodiscard]] std::int64_t rows() const { return positions * layout.micro_batch_size; }
  [[nodiscard]] std::int64_t local_rows() const {
    return layout.sequence_parallel ? rows() / layout.tensor_parallel_size : rows();
  }
  // Position in its sequence of the rank's i-th token. A context rank r has the r-th of 2c chunks,
  // and the r-th from the end.
  [[nodiscard]] std::int64_t position(std::int64_t i) const {
    const std::int64_t c = layout.context_parallel_size, rank = groups.at.context;
    if (c == 1) return first_position + i;
    const std::int64_t chunk = positions / 2;
    return i < chunk ? rank * chunk + i : (2 * c - 2 - rank) * chunk + i;
  }
  // Position in its sequence of a local row.
  [[nodiscard]] std::int64_t position_of(std::int64_t row) const {
    const std::int64_t first = layout.sequence_parallel ? local_rows() * groups.at.tensor : 0;
    return position((first + row) / layout.micro_batch_size);
  }
  [[nodiscard]] std::int64_t hidden() const { return model.hidden_size; }
  // Selective recompute runs one of these modules again in backward.
  [[nodiscard]] bool recomputes(unsigned modules) const {
    return recomputes_module(layout, modules);
  }
  [[nodiscard]] Tensor tensor(std::int64_t count) const { return {arena, count}; }
  // Format of arrays that only products read: of 16 bits where the job's products are.
  [[nodiscard]] Precision operand_format() const {
    return has_sixteen_bits(job.precision) ? job.precision : Precision::fp32;
  }
  [[nodiscard]] Tensor operand(std::int64_t count) const {
    return {arena, count, operand_format()};
  }
};

// Rounds an array between layers to the job's number format, if that has 16 bits.
void round_between_layers(const TrialContext& context, const Tensor& x);

// A copy of x in the format of operands, for products that read it several times; empty where that
// is x's own.
Tensor operand_copy(const TrialContext& context, ConstNumbers x, std::int64_t count);
inline Tensor operand_copy(const TrialContext& context, const Tensor& x) {
  return operand_copy(context, x.numbers(), x.count());
}
// The copy, or x.
inline Numbers operand_of(const Tensor& x, const Tensor& copy) {
  return copy.empty() ? x.numbers() : copy.numbers();
}
inline ConstNumbers operand_of(ConstNumbers x, const Tensor& copy) {
  return copy.empty() ? x : ConstNumbers(copy.numbers());
}

// On the host, once the device is done.
std::vector<float> downloaded(const TrialContext& context, const Tensor& from);

// All rows of x (local_rows x cols): x itself, or gathered from the tensor ranks.
class WholeSequence {
 public:
  WholeSequence(const TrialContext& context, ConstNumbers x, std::int64_t cols,
                std::string_view name, Phase phase);
  // In x's format.
  [[nodiscard]] ConstNumbers numbers() const { return numbers_; }
  [[nodiscard]] const float* data() const;

 private:
  Tensor gathered_;
  ConstNumbers numbers_;
};

// The sum of `partial` (rows x cols) over the tensor ranks: all of it, or this rank's rows.
Tensor reduce_sequence(const TrialContext& context, Tensor partial, std::int64_t cols,
                       std::string_view name, Phase phase);

}  // namespace meshwright::calibrate
