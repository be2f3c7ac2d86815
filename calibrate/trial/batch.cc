// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/batch.h"

namespace meshwright::calibrate {
namespace {

// (positions, batch) of token ids; `ahead` 1 gives the targets.
Tensor tokens(const TrialContext& context, std::uint64_t stream, std::int64_t first_sample,
              std::int64_t ahead, std::uint64_t seed) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(context.rows()));
  const std::int64_t batch = context.layout.micro_batch_size;
  for (std::int64_t i = 0; i < context.rows(); ++i) {
    ids[static_cast<std::size_t>(i)] =
        hashed_integer(seed, stream, static_cast<std::uint64_t>(first_sample + i % batch),
                       static_cast<std::uint64_t>(i / batch + ahead), context.model.vocab_size);
  }
  Tensor device = context.tensor(context.rows());
  context.compute.upload(device.data(), ids.data(), device.size());
  context.compute.synchronize();
  return device;
}

// (positions, batch, hidden) of numbers in [-1, 1).
Tensor numbers(const TrialContext& context, std::uint64_t stream, std::int64_t first_sample,
               std::uint64_t seed) {
  const std::int64_t width = context.hidden();
  const std::int64_t batch = context.layout.micro_batch_size;
  std::vector<float> values(static_cast<std::size_t>(context.rows() * width));
  for (std::int64_t i = 0; i < context.rows() * width; ++i) {
    const std::int64_t row = i / width;
    values[static_cast<std::size_t>(i)] =
        hashed_number(seed, stream, static_cast<std::uint64_t>(first_sample + row % batch),
                      static_cast<std::uint64_t>(row / batch * width + i % width));
  }
  Tensor device = context.tensor(context.rows() * width);
  context.compute.upload(device.data(), values.data(), device.size());
  context.compute.synchronize();
  return device;
}

}  // namespace

std::vector<MicroBatch> make_micro_batches(const TrialContext& context, int count,
                                           std::uint64_t seed) {
  std::vector<MicroBatch> batches;
  for (int i = 0; i < count; ++i) {
    const std::int64_t sample = (static_cast<std::int64_t>(context.groups.at.data) * count + i) *
                                context.layout.micro_batch_size;
    if (context.model.vocab_size > 0) {
      const std::uint64_t stream = stream_of("tokens");
      batches.push_back(
          {tokens(context, stream, sample, 0, seed), tokens(context, stream, sample, 1, seed)});
    } else {
      batches.push_back({numbers(context, stream_of("inputs"), sample, seed),
                         numbers(context, stream_of("targets"), sample, seed)});
    }
  }
  return batches;
}

}  // namespace meshwright::calibrate
