// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/context.h"

#include "sim/base/error.h"

namespace meshwright::calibrate {

void round_between_layers(const TrialContext& context, const Tensor& x) {
  const Precision format = context.job.precision;
  if (has_sixteen_bits(format)) context.compute.round(x.data(), format, x.count());
}

std::vector<float> downloaded(const TrialContext& context, const Tensor& from) {
  std::vector<float> values(static_cast<std::size_t>(from.count()));
  context.compute.download(values.data(), from.data(), from.size());
  context.compute.synchronize();
  return values;
}

Tensor operand_copy(const TrialContext& context, ConstNumbers x, std::int64_t count) {
  if (x.format == context.operand_format()) return {};
  Tensor copy = context.operand(count);
  context.compute.convert(copy.numbers().data, copy.format(), static_cast<const float*>(x.data),
                          count);
  return copy;
}

WholeSequence::WholeSequence(const TrialContext& context, ConstNumbers x, std::int64_t cols,
                             std::string_view name, Phase phase)
    : numbers_(x) {
  if (!context.layout.sequence_parallel) return;
  gathered_ = Tensor(context.arena, context.rows() * cols, x.format);
  context.groups.tensor.all_gather(name, phase, x, gathered_.numbers(),
                                   context.local_rows() * cols);
  numbers_ = gathered_.numbers();
}

const float* WholeSequence::data() const {
  invariant(numbers_.format == Precision::fp32, "numbers of 16 bits are not read as fp32");
  return static_cast<const float*>(numbers_.data);
}

Tensor reduce_sequence(const TrialContext& context, Tensor partial, std::int64_t cols,
                       std::string_view name, Phase phase) {
  if (!context.layout.sequence_parallel) {
    context.groups.tensor.all_reduce(name, phase, partial.data(), context.rows() * cols);
    return partial;
  }
  Tensor share = context.tensor(context.local_rows() * cols);
  context.groups.tensor.reduce_scatter(name, phase, partial.data(), share.data(),
                                       context.local_rows() * cols);
  return share;
}

}  // namespace meshwright::calibrate
