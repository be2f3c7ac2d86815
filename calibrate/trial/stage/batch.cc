// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/batch.h"

#include "calibrate/trial/states/parameters.h"

namespace meshwright::calibrate {

std::vector<std::int32_t> token_ids(const Model& model, std::int64_t batch, std::int64_t positions,
                                    std::int64_t first_sample, std::int64_t first_position,
                                    std::uint64_t seed) {
  const std::uint64_t stream = stream_of("tokens");
  std::vector<std::int32_t> ids(static_cast<std::size_t>(batch * positions));
  for (std::int64_t i = 0; i < batch * positions; ++i) {
    ids[static_cast<std::size_t>(i)] =
        hashed_integer(seed, stream, static_cast<std::uint64_t>(first_sample + i % batch),
                       static_cast<std::uint64_t>(i / batch + first_position), model.vocab_size);
  }
  return ids;
}

namespace {

// The tokens `ahead` of the context's positions.
Tensor tokens(const TrialContext& context, std::int64_t first_sample, std::int64_t ahead,
              std::uint64_t seed) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < context.positions; ++i) {
    const auto at = token_ids(context.model, context.layout.micro_batch_size, 1, first_sample,
                              context.position(i) + ahead, seed);
    ids.insert(ids.end(), at.begin(), at.end());
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
    const std::int64_t row = i / width, position = context.position(row / batch);
    values[static_cast<std::size_t>(i)] =
        hashed_number(seed, stream, static_cast<std::uint64_t>(first_sample + row % batch),
                      static_cast<std::uint64_t>(position * width + i % width));
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
      // The target of a position is the token at the next one.
      MicroBatch& made = batches.emplace_back(
          MicroBatch{tokens(context, sample, 0, seed), tokens(context, sample, 1, seed), {}});
      for (int depth = 1; depth <= context.model.mtp_num_layers; ++depth) {
        made.later_targets.push_back(tokens(context, sample, depth + 1, seed));
      }
    } else {
      batches.push_back({numbers(context, stream_of("inputs"), sample, seed),
                         numbers(context, stream_of("targets"), sample, seed),
                         {}});
    }
  }
  return batches;
}

}  // namespace meshwright::calibrate
