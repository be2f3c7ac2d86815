// SPDX-License-Identifier: Apache-2.0
// Attention in double precision, a row at a time, and how far a kernel with operands and results of
// 16 bits may be off.
//
// Probabilities and their gradients are rounded to 8 or 11 bits before a product, as is its result.
// Terms err by 2^-7 of their magnitude at most; the row sum of do * o, whose o is rounded, by 2^-8
// of its terms' magnitudes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "calibrate/backends/library_kernels.h"

namespace meshwright::calibrate {

// Numbers of an operand by their index in (batch, heads, positions, head_dim).
using OperandNumber = std::function<double(std::int64_t)>;

struct Expected {
  double value = 0.0, tolerance = 0.0;
};

class AttentionReference {
 public:
  AttentionReference(const AttentionCall& call, OperandNumber q, OperandNumber k, OperandNumber v,
                     OperandNumber d_o);

  // Of one query.
  [[nodiscard]] Expected output(std::int64_t batch, std::int64_t head, std::int64_t query,
                                std::int64_t column) const;
  [[nodiscard]] Expected query_gradient(std::int64_t batch, std::int64_t head, std::int64_t query,
                                        std::int64_t column) const;
  // Of the last key under a causal mask, which the last query of each head alone sees.
  [[nodiscard]] Expected last_key_gradient(std::int64_t batch, std::int64_t group,
                                           std::int64_t column) const;
  [[nodiscard]] Expected last_value_gradient(std::int64_t batch, std::int64_t group,
                                             std::int64_t column) const;

 private:
  struct Row {
    std::vector<double> probability, gradient, gradient_error;  // by key; of the scaled scores
  };
  [[nodiscard]] std::int64_t group_of(std::int64_t head) const;
  [[nodiscard]] std::int64_t query_at(std::int64_t batch, std::int64_t head,
                                      std::int64_t query) const;
  [[nodiscard]] std::int64_t key_at(std::int64_t batch, std::int64_t group, std::int64_t key) const;
  [[nodiscard]] std::vector<double> probabilities(std::int64_t batch, std::int64_t head,
                                                  std::int64_t query) const;
  [[nodiscard]] Row row(std::int64_t batch, std::int64_t head, std::int64_t query) const;

  AttentionCall call_;
  OperandNumber q_, k_, v_, d_o_;
};

}  // namespace meshwright::calibrate
