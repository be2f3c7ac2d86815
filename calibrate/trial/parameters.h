// SPDX-License-Identifier: Apache-2.0
// The trial's weights: each a slice of a matrix that is the same under every layout.
//
// Entry (row, col) of the full matrix is a hash of (seed, the parameter's name, row, col), so a
// rank makes its own slice and never sees the rest. All weights of a rank lie in one array, all
// gradients in another, as in Megatron-LM's contiguous gradient buffer: one all-reduce, one
// optimizer call.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/trial/arena.h"

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

  float* weight = nullptr;
  float* gradient = nullptr;

  [[nodiscard]] std::int64_t count() const { return local_rows * blocks * local_cols; }
  [[nodiscard]] std::int64_t global_row(std::int64_t index) const;
  [[nodiscard]] std::int64_t global_col(std::int64_t index) const;  // of rows x (blocks * cols)
};

class ParameterStore {
 public:
  // The reference stays valid; weight and gradient are set by allocate().
  Parameter& add(Parameter parameter);
  // Once, after the last add. The arrays are padded to a multiple of `shards`; moments are kept for
  // one shard.
  void allocate(Arena& arena, Compute& compute, int shards, std::uint64_t seed);
  // Weights only, for inference; once, instead of allocate().
  void allocate_weights(Arena& arena, Compute& compute, std::uint64_t seed);

  [[nodiscard]] const std::deque<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] float* weights() const { return weights_.data(); }
  [[nodiscard]] float* gradients() const { return gradients_.data(); }
  [[nodiscard]] float* exp_avg() const { return exp_avg_.data(); }
  [[nodiscard]] float* exp_avg_sq() const { return exp_avg_sq_.data(); }
  [[nodiscard]] std::int64_t count() const { return weights_.count(); }
  // The end of the arrays: parameters with partial_gradient.
  [[nodiscard]] std::int64_t partial_begin() const { return partial_begin_; }
  [[nodiscard]] std::int64_t partial_count() const { return partial_count_; }

 private:
  [[nodiscard]] std::int64_t total() const;
  void place(bool partial, std::int64_t& next);
  void fill(Compute& compute, std::uint64_t seed);

  std::deque<Parameter> parameters_;
  Tensor weights_, gradients_, exp_avg_, exp_avg_sq_;
  std::int64_t partial_begin_ = 0, partial_count_ = 0;
};

// A number in [-1, 1), the same for the same arguments everywhere.
float hashed_number(std::uint64_t seed, std::uint64_t stream, std::uint64_t row, std::uint64_t col);
// A number in [0, bound).
std::int32_t hashed_integer(std::uint64_t seed, std::uint64_t stream, std::uint64_t row,
                            std::uint64_t col, std::int32_t bound);
std::uint64_t stream_of(const std::string& name);

}  // namespace meshwright::calibrate
