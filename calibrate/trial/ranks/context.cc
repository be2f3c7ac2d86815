// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/context.h"

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

WholeSequence::WholeSequence(const TrialContext& context, const float* x, std::int64_t cols,
                             std::string_view name, Phase phase)
    : data_(x) {
  if (!context.layout.sequence_parallel) return;
  gathered_ = context.tensor(context.rows() * cols);
  context.groups.tensor.all_gather(name, phase, x, gathered_.data(), context.local_rows() * cols);
  data_ = gathered_.data();
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
