// SPDX-License-Identifier: Apache-2.0
// The trial's weights: each a slice of a matrix that is the same under every layout.
//
// Entry (row, col) of the full matrix is a hash of (seed, the parameter's name, row, col), so a
// rank makes its own slice and never sees the rest. Weights that the same ranks hold lie in one
// array, their gradients in another, as in Megatron-LM's contiguous gradient buffers: one
// all-reduce, one optimizer call. Routed experts' are arrays of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/trial/ranks/arena.h"
#include "calibrate/trial/states/host_store.h"

namespace meshwright::calibrate {

enum class Init { weight, gain, bias };

struct Parameter {
  std::string name;  // "layers.3.mlp.fc1.weight": what it is, wherever it is
  Init init = Init::weight;
  // The full matrix is rows x (blocks * cols); this rank holds local_rows from first_row and, in
  // each block, local_cols from first_col. Blocks are q, k and v of a fused projection.
  std::int64_t rows = 1, cols = 1, blocks = 1;
  std::int64_t first_row = 0, local_rows = 1, first_col = 0, local_cols = 1;
  // Its gradient on one tensor rank covers that rank's positions only (sequence parallelism).
  bool partial_gradient = false;
  bool expert = false;  // of a routed expert
  int unit = 0;         // set by add(): the one begun last

  float* weight = nullptr;
  float* gradient = nullptr;
  // The weight once more as products of 16 bits read it; no data where products are fp32.
  Numbers sixteen_bits;

  [[nodiscard]] ConstNumbers operand() const {
    return sixteen_bits.data == nullptr ? ConstNumbers(weight) : ConstNumbers(sixteen_bits);
  }
  [[nodiscard]] std::int64_t count() const { return local_rows * blocks * local_cols; }
  [[nodiscard]] std::int64_t global_row(std::int64_t index) const;
  [[nodiscard]] std::int64_t global_col(std::int64_t index) const;  // of rows x (blocks * cols)
};

// This rank's shard of states that are cut into `count` shards.
struct Shards {
  int count = 1, rank = 0;
};

// Parameters whose gradients the same ranks add up at the same time.
struct ParameterUnit {
  int key = 0;
  bool expert = false;
  // Numbers of the arrays, padded. Each of `pieces` of them is cut into shards of its own, which
  // lie in the shard's arrays one behind the other.
  std::int64_t total = 0;
  int pieces = 1;
  Shards shards;
  Tensor weights, gradients;              // whole; empty where they are gathered and summed in time
  Tensor shard_weights, shard_gradients;  // then these
  // The whole weights as products of 16 bits read them, rounded once after the optimizer or after
  // they were gathered; empty where products are fp32.
  Tensor operands;
  Precision operand_format = Precision::fp32;
  Tensor exp_avg, exp_avg_sq;  // of the shard; empty where they are
  HostStates on_host;
  std::vector<Parameter*> members;
  // Between passes that overlap with data-parallel communication: this step's gradients are summed
  // already; this rank has only its own part of the updated weights.
  bool gradients_reduced = false, weights_outdated = false;
  int users = 0;  // passes that work with the whole weights, where these are gathered for them
  // The end of the arrays: parameters with partial_gradient.
  std::int64_t partial_begin = 0, partial_count = 0;

  // With `operands`, which round_weights() makes those of the weights.
  void take_weights(Arena& arena);
  void round_weights(Compute& compute);
  void release_weights();
  void take_gradients(Arena& arena);
};

// Storage of states from the first micro-batch of a step to the last.
struct KeptStates {
  Shards dense, expert;  // of the moments, and of what is not whole
  bool whole_weights = true, whole_gradients = true;
  bool gradients = true;  // FSDP's shards come with the first reduction and go with the step
  bool moments_on_host = false;
  Precision operands = Precision::fp32;  // format of the weights that products read
};

class ParameterStore {
 public:
  // Starts a unit: parameters added from now on belong to it. Its arrays are cut as described
  // above.
  void begin_unit(int key, int pieces);
  // The reference stays valid; weight and gradient are set by allocate(), and anew where a unit's
  // arrays are.
  Parameter& add(Parameter parameter);
  // Once, after the last add.
  void allocate(Arena& arena, Compute& compute, const KeptStates& kept, std::uint64_t seed);
  // Weights only, for inference; once, instead of allocate().
  void allocate_weights(Arena& arena, Compute& compute, std::uint64_t seed,
                        Precision operands = Precision::fp32);

  [[nodiscard]] const std::deque<Parameter>& parameters() const { return parameters_; }
  // Units of parameters. Each has a dense part, and one of the experts if any are here.
  [[nodiscard]] const std::deque<ParameterUnit>& units() const { return units_; }
  [[nodiscard]] std::deque<ParameterUnit>& units() { return units_; }

 private:
  ParameterUnit& unit_of(const Parameter& parameter);
  void place(const KeptStates& kept);
  static void fill(ParameterUnit& unit, Compute& compute, std::uint64_t seed);

  std::deque<Parameter> parameters_;
  std::deque<ParameterUnit> units_;
  int key_ = 0, pieces_ = 1;
};

// A number in [-1, 1), the same for the same arguments everywhere.
float hashed_number(std::uint64_t seed, std::uint64_t stream, std::uint64_t row, std::uint64_t col);
// A number in [0, bound).
std::int32_t hashed_integer(std::uint64_t seed, std::uint64_t stream, std::uint64_t row,
                            std::uint64_t col, std::int32_t bound);
std::uint64_t stream_of(const std::string& name);

}  // namespace meshwright::calibrate
