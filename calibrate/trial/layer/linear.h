// SPDX-License-Identifier: Apache-2.0
// Linears split over the tensor ranks (Shoeybi 2019, arXiv 1909.08053, section 3; with sequence
// parallelism Korthikanti 2022, arXiv 2205.05198, section 4.2.2).
//
// Column-parallel: the weight's columns are split; the whole input is needed, each rank makes its
// columns of the output; the input's gradient is summed over the ranks. Row-parallel: the weight's
// rows are split; outputs are summed, then the bias is added once. Weights are in x out.
#pragma once

#include <string_view>

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/states/parameters.h"
#include "sim/block/transfer_names.h"

namespace meshwright::calibrate {

// y = x w, of `rows` rows.
void forward_product(const TrialContext& context, std::int64_t rows, ConstNumbers x,
                     const Parameter& w, float* y);
// dx = dy w^T + beta dx.
void input_gradient(const TrialContext& context, std::int64_t rows, ConstNumbers dy,
                    const Parameter& w, float* dx, float beta = 0.0F);
// The weight's gradient += x^T dy. Where its gather has a name, x is this rank's piece of the rows.
void weight_gradient(const TrialContext& context, std::int64_t rows, ConstNumbers dy,
                     ConstNumbers x, const Parameter& w, std::string_view gather = {});

// Names of a linear's collectives in the ledger (sim/block/transfer_names.h).
struct LinearNames {
  std::string_view forward, backward, weight_gradient;
};
LinearNames input_names(const transfer_names::BlockNames& block, bool sequence_parallel);
LinearNames output_names(const transfer_names::BlockNames& block, bool sequence_parallel);

class ColumnParallelLinear {
 public:
  // `cols` of each of `blocks` blocks, full size; `rows` of its input, 0: hidden.
  ColumnParallelLinear(const TrialContext& context, ParameterStore& store, const std::string& name,
                       std::int64_t blocks, std::int64_t cols, bool bias, LinearNames names,
                       std::int64_t rows = 0);

  [[nodiscard]] std::int64_t local_cols() const { return weight_.blocks * weight_.local_cols; }
  [[nodiscard]] const Parameter* bias() const { return bias_; }  // not added here
  // rows x local_cols(), from local_rows of the input.
  [[nodiscard]] Tensor forward(const Tensor& x, Phase phase) const;
  // The gradient of x; adds to the weight's.
  [[nodiscard]] Tensor backward(const Tensor& dy, const Tensor& x) const;

 private:
  const TrialContext& context_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
  LinearNames names_;
};

class RowParallelLinear {
 public:
  // `rows`: full size of the input.
  RowParallelLinear(const TrialContext& context, ParameterStore& store, const std::string& name,
                    std::int64_t rows, bool bias, LinearNames names);

  // rows x hidden: this rank's part of the sum over the tensor ranks, without bias.
  [[nodiscard]] Tensor partial(const Tensor& x) const;
  // local_rows x hidden with bias, from rows x the rank's share of the input.
  [[nodiscard]] Tensor forward(const Tensor& x, Phase phase) const;
  // The gradient of x; adds to the weight's and bias's.
  [[nodiscard]] Tensor backward(const Tensor& dy, const Tensor& x) const;

 private:
  const TrialContext& context_;
  Parameter& weight_;
  Parameter* bias_ = nullptr;
  LinearNames names_;
};

}  // namespace meshwright::calibrate
