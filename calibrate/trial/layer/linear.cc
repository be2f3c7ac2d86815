// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/linear.h"

#include <utility>

#include "calibrate/trial/layer/product.h"

namespace meshwright::calibrate {

void forward_product(const TrialContext& context, std::int64_t rows, ConstNumbers x,
                     const Parameter& w, float* y) {
  const std::int64_t cols = w.blocks * w.local_cols;
  multiply(context, product(rows, cols, w.local_rows, x, w.operand(), y));
}

void input_gradient(const TrialContext& context, std::int64_t rows, ConstNumbers dy,
                    const Parameter& w, float* dx, float beta) {
  const std::int64_t cols = w.blocks * w.local_cols;
  MixedGemmCall call = product(rows, w.local_rows, cols, dy, w.operand(), dx);
  call.transpose_b = true;
  call.beta = beta;
  multiply(context, call);
}

void weight_gradient(const TrialContext& context, std::int64_t rows, ConstNumbers dy,
                     ConstNumbers x, const Parameter& w, std::string_view gather) {
  const std::int64_t cols = w.blocks * w.local_cols;
  MixedGemmCall call = product(w.local_rows, cols, rows, x, dy, w.gradient);
  call.transpose_a = true;
  call.beta = 1.0F;
  if (gather.empty()) return multiply_for_weight(context, call);
  multiply_for_weight(context, call, {SequencePiece::Operand::a, w.local_rows, gather});
}

namespace {

Parameter weight_columns(const TrialContext& context, const std::string& name, std::int64_t blocks,
                         std::int64_t cols) {
  const std::int64_t share = cols / context.layout.tensor_parallel_size;
  Parameter p;
  p.name = name;
  p.rows = p.local_rows = context.hidden();
  p.blocks = blocks;
  p.cols = cols;
  p.local_cols = share;
  p.first_col = share * context.groups.at.tensor;
  return p;
}

}  // namespace

LinearNames input_names(const transfer_names::BlockNames& block, bool sequence_parallel) {
  if (!sequence_parallel) return {"", block.input_gradient_all_reduce, ""};
  return {block.input_all_gather, block.input_gradient_reduce_scatter,
          block.input_all_gather_again};
}

LinearNames output_names(const transfer_names::BlockNames& block, bool sequence_parallel) {
  if (!sequence_parallel) return {block.output_all_reduce, "", ""};
  return {block.output_reduce_scatter, block.output_gradient_all_gather, ""};
}

ColumnParallelLinear::ColumnParallelLinear(const TrialContext& context, ParameterStore& store,
                                           const std::string& name, std::int64_t blocks,
                                           std::int64_t cols, bool bias, LinearNames names,
                                           std::int64_t rows)
    : context_(context),
      weight_(store.add(weight_columns(context, name + ".weight", blocks, cols))),
      names_(names) {
  if (rows > 0) weight_.rows = weight_.local_rows = rows;
  if (!bias) return;
  Parameter p = weight_columns(context, name + ".bias", blocks, cols);
  p.init = Init::bias;
  p.rows = p.local_rows = 1;
  bias_ = &store.add(std::move(p));
}

Tensor ColumnParallelLinear::forward(const Tensor& x, Phase phase) const {
  const WholeSequence whole(context_, x.numbers(), weight_.local_rows, names_.forward, phase);
  Tensor y = context_.tensor(context_.rows() * local_cols());
  forward_product(context_, context_.rows(), whole.numbers(), weight_, y.data());
  return y;
}

Tensor ColumnParallelLinear::backward(const Tensor& dy, const Tensor& x) const {
  const Tensor copy = operand_copy(context_, dy);
  const Numbers gradient = operand_of(dy, copy);
  Tensor partial = context_.tensor(context_.rows() * weight_.local_rows);
  input_gradient(context_, context_.rows(), gradient, weight_, partial.data());
  Tensor dx = reduce_sequence(context_, std::move(partial), weight_.local_rows, names_.backward,
                              Phase::backward);
  weight_gradient(context_, context_.rows(), gradient, x.numbers(), weight_,
                  names_.weight_gradient);
  return dx;
}

RowParallelLinear::RowParallelLinear(const TrialContext& context, ParameterStore& store,
                                     const std::string& name, std::int64_t rows, bool bias,
                                     LinearNames names)
    : context_(context),
      weight_(store.add([&] {
        const std::int64_t share = rows / context.layout.tensor_parallel_size;
        Parameter p;
        p.name = name + ".weight";
        p.rows = rows;
        p.local_rows = share;
        p.first_row = share * context.groups.at.tensor;
        p.cols = p.local_cols = context.hidden();
        return p;
      }())),
      names_(names) {
  if (!bias) return;
  Parameter p;
  p.name = name + ".bias";
  p.init = Init::bias;
  p.cols = p.local_cols = context.hidden();
  p.partial_gradient = context.layout.sequence_parallel;
  bias_ = &store.add(std::move(p));
}

Tensor RowParallelLinear::partial(const Tensor& x) const {
  Tensor y = context_.tensor(context_.rows() * context_.hidden());
  forward_product(context_, context_.rows(), x.numbers(), weight_, y.data());
  return y;
}

Tensor RowParallelLinear::forward(const Tensor& x, Phase phase) const {
  Tensor y = reduce_sequence(context_, partial(x), context_.hidden(), names_.forward, phase);
  if (bias_ != nullptr) {
    context_.compute.add_bias(y.data(), bias_->weight, context_.local_rows(), context_.hidden());
  }
  return y;
}

Tensor RowParallelLinear::backward(const Tensor& dy, const Tensor& x) const {
  if (bias_ != nullptr) {
    context_.compute.bias_backward(dy.data(), bias_->gradient, context_.local_rows(),
                                   context_.hidden());
  }
  const WholeSequence whole(context_, dy.data(), context_.hidden(), names_.backward,
                            Phase::backward);
  const Tensor copy = operand_copy(context_, whole.numbers(), context_.rows() * context_.hidden());
  const ConstNumbers gradient = operand_of(whole.numbers(), copy);
  Tensor dx = context_.tensor(context_.rows() * weight_.local_rows);
  input_gradient(context_, context_.rows(), gradient, weight_, dx.data());
  weight_gradient(context_, context_.rows(), gradient, x.numbers(), weight_);
  return dx;
}

}  // namespace meshwright::calibrate
