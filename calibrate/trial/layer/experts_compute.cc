// SPDX-License-Identifier: Apache-2.0
// What the experts of a rank compute of the tokens that reached it: fc1, activation, fc2, and back.
#include "calibrate/trial/layer/experts.h"
#include "calibrate/trial/layer/mlp.h"
#include "calibrate/trial/layer/product.h"

namespace meshwright::calibrate {
namespace {

const float* weight_of(const Parameter* parameter) {
  return parameter == nullptr ? nullptr : parameter->weight;
}

}  // namespace

template <typename Visit>
void Experts::for_each_expert(const ExpertsSaved& saved, const Visit& visit) const {
  Rows rows{0, 0};
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    rows.count = saved.plan.of_expert[e];
    if (rows.count > 0) visit(experts_[e], rows);
    rows.begin += rows.count;
  }
}

void Experts::clamp(ExpertsSaved& saved) const {
  if (limit_ == 0.0F) return;
  const std::int64_t inputs = mlp_inputs(context_.model) * cols_;
  saved.clamped = context_.tensor(saved.fc1.count());
  for_each_expert(saved, [&](const Expert& expert, Rows rows) {
    const std::int64_t begin = rows.begin * inputs;
    context_.compute.clamp_gated_forward(saved.fc1.data() + begin, weight_of(expert.fc1_bias),
                                         saved.clamped.data() + begin, limit_, rows.count, cols_);
  });
}

Tensor Experts::activated(const ExpertsSaved& saved, bool weighted) const {
  const std::int64_t inputs = mlp_inputs(context_.model) * cols_;
  Tensor y = context_.tensor(saved.plan.rows() * cols_);
  const bool clamped = !saved.clamped.empty();
  const Tensor& x = clamped ? saved.clamped : saved.fc1;
  for_each_expert(saved, [&](const Expert& expert, Rows rows) {
    activate(context_, x.data() + rows.begin * inputs,
             clamped ? nullptr : weight_of(expert.fc1_bias), y.data() + rows.begin * cols_,
             rows.count, cols_);
  });
  if (weighted) {
    context_.compute.scale_rows(y.data(), saved.probabilities.data(), y.data(), saved.plan.rows(),
                                cols_);
  }
  return y;
}

Tensor Experts::compute(ExpertsSaved& saved) const {
  const std::int64_t inputs = mlp_inputs(context_.model) * cols_, h = context_.hidden();
  saved.fc1 = context_.tensor(saved.plan.rows() * inputs);
  for_each_expert(saved, [&](const Expert& expert, Rows rows) {
    forward_product(context_, rows.count, saved.tokens.data() + rows.begin * h, *expert.fc1,
                    saved.fc1.data() + rows.begin * inputs);
  });
  clamp(saved);
  saved.activation = activated(saved, true);
  Tensor out = context_.tensor(saved.plan.rows() * h);
  for_each_expert(saved, [&](const Expert& expert, Rows rows) {
    float* y = out.data() + rows.begin * h;
    forward_product(context_, rows.count, saved.activation.data() + rows.begin * cols_, *expert.fc2,
                    y);
    add_output_bias(expert, saved.probabilities.data() + rows.begin, y, rows.count);
  });
  if (context_.recomputes(kRecomputeMoeActivation)) {
    saved.clamped.release();
    saved.activation.release();
  }
  return out;
}

// This rank's columns of the bias, zeros beside them.
Tensor Experts::whole_bias(const Expert& expert) const {
  const Parameter& bias = *expert.fc2_bias;
  Tensor whole = context_.tensor(bias.cols);
  context_.compute.fill_zero(whole.data(), whole.size());
  context_.compute.copy_rows(whole.data() + bias.first_col, bias.cols, bias.weight, bias.local_cols,
                             1, bias.local_cols);
  return whole;
}

void Experts::add_output_bias(const Expert& expert, const float* probabilities, float* y,
                              std::int64_t rows) const {
  if (expert.fc2_bias == nullptr) return;
  const Tensor bias = whole_bias(expert);
  MixedGemmCall call = product(rows, context_.hidden(), 1, probabilities, bias.data(), y);
  call.beta = 1.0F;
  context_.compute.gemm(call);
}

void Experts::output_bias_backward(const Expert& expert, const float* dout,
                                   const float* probabilities, float* dprobabilities,
                                   std::int64_t rows) const {
  if (expert.fc2_bias == nullptr) return;
  const std::int64_t h = context_.hidden();
  const Parameter& bias = *expert.fc2_bias;
  const Tensor whole = whole_bias(expert);
  MixedGemmCall call = product(rows, 1, h, dout, whole.data(), dprobabilities);
  call.beta = 1.0F;
  context_.compute.gemm(call);
  context_.compute.gemm(product(1, h, rows, probabilities, dout, whole.data()));
  context_.compute.add(bias.gradient, whole.data() + bias.first_col, bias.gradient,
                       bias.local_cols);
}

void Experts::activation_backward(const ExpertsSaved& saved, const Expert& expert, Rows rows,
                                  const Tensor& dactivation, const Tensor& dfc1) const {
  const std::int64_t begin = rows.begin * mlp_inputs(context_.model) * cols_;
  const float* dy = dactivation.data() + rows.begin * cols_;
  const float* fc1 = saved.fc1.data() + begin;
  float* dx = dfc1.data() + begin;
  if (saved.clamped.empty()) {
    activate_backward(context_, dy, fc1, expert.fc1_bias, dx, rows.count, cols_);
    return;
  }
  activate_backward(context_, dy, saved.clamped.data() + begin, nullptr, dx, rows.count, cols_);
  float* dbias = expert.fc1_bias == nullptr ? nullptr : expert.fc1_bias->gradient;
  context_.compute.clamp_gated_backward(dx, fc1, weight_of(expert.fc1_bias), dx, dbias, limit_,
                                        rows.count, cols_);
}

// out = p a W2 + p b2, a = activation(fc1): p's gradient is a . (dout W2^T) + b2 . dout.
void Experts::compute_backward(ExpertsSaved& saved, ExpertsBackward& pass) const {
  const std::int64_t inputs = mlp_inputs(context_.model) * cols_, h = context_.hidden();
  const std::int64_t rows_here = saved.plan.rows();
  pass.dprobabilities = context_.tensor(rows_here);
  context_.compute.fill_zero(pass.dprobabilities.data(), pass.dprobabilities.size());
  if (saved.activation.empty()) {
    const TermScope scope(context_.recorder, TermKind::recompute);
    clamp(saved);
    saved.activation = activated(saved, true);
  }
  Tensor dactivation = context_.tensor(rows_here * cols_);
  for_each_expert(saved, [&](const Expert& expert, Rows rows) {
    const float* dy = pass.dout.data() + rows.begin * h;
    input_gradient(context_, rows.count, dy, *expert.fc2, dactivation.data() + rows.begin * cols_);
    weight_gradient(context_, rows.count, dy, saved.activation.data() + rows.begin * cols_,
                    *expert.fc2);
    output_bias_backward(expert, dy, saved.probabilities.data() + rows.begin,
                         pass.dprobabilities.data() + rows.begin, rows.count);
  });
  saved.activation.release();
  {
    const Tensor unweighted = activated(saved, false);
    context_.compute.row_dots(dactivation.data(), unweighted.data(), pass.dprobabilities.data(),
                              rows_here, cols_);
  }
  context_.compute.scale_rows(dactivation.data(), saved.probabilities.data(), dactivation.data(),
                              rows_here, cols_);
  const Tensor dfc1 = context_.tensor(rows_here * inputs);
  for_each_expert(saved, [&](const Expert& expert, Rows rows) {
    activation_backward(saved, expert, rows, dactivation, dfc1);
  });
  dactivation.release();
  saved.clamped.release();
  saved.fc1.release();
  pass.dtokens = context_.tensor(rows_here * h);
  for_each_expert(saved, [&](const Expert& expert, Rows rows) {
    const float* dy = dfc1.data() + rows.begin * inputs;
    input_gradient(context_, rows.count, dy, *expert.fc1, pass.dtokens.data() + rows.begin * h);
    weight_gradient(context_, rows.count, dy, saved.tokens.data() + rows.begin * h, *expert.fc1);
  });
  saved.tokens.release();
  pass.dout.release();
}

}  // namespace meshwright::calibrate
