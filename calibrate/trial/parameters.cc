// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/parameters.h"

#include <utility>

#include "calibrate/launch/rank_progress.h"

namespace meshwright::calibrate {
namespace {

// The finaliser of SplitMix64 (Steele 2014, Fast splittable pseudorandom number generators).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

std::uint64_t hash(std::uint64_t seed, std::uint64_t stream, std::uint64_t row, std::uint64_t col) {
  return mix(mix(mix(mix(seed) ^ stream) ^ row) ^ col);
}

// Weights are uniform with Megatron's standard deviation 0.02 (0.02 * sqrt 3 = 0.0346). Gains and
// biases are not exactly 1 and 0, so that a wrong gradient of theirs is seen.
float initial_value(Init init, float number) {
  switch (init) {
    case Init::weight:
      return 0.0346F * number;
    case Init::gain:
      return 1.0F + 0.1F * number;
    case Init::bias:
      return 0.02F * number;
  }
  return 0.0F;
}

std::vector<float> initial_values(const Parameter& p, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(p.count()));
  const std::uint64_t stream = stream_of(p.name);
  for (std::int64_t i = 0; i < p.count(); ++i) {
    const auto row = static_cast<std::uint64_t>(p.global_row(i));
    const auto col = static_cast<std::uint64_t>(p.global_col(i));
    values[static_cast<std::size_t>(i)] =
        initial_value(p.init, hashed_number(seed, stream, row, col));
  }
  return values;
}

}  // namespace

std::int64_t Parameter::global_row(std::int64_t index) const {
  return first_row + index / (blocks * local_cols);
}

std::int64_t Parameter::global_col(std::int64_t index) const {
  const std::int64_t col = index % (blocks * local_cols);
  return col / local_cols * cols + first_col + col % local_cols;
}

Parameter& ParameterStore::add(Parameter parameter) {
  parameters_.push_back(std::move(parameter));
  return parameters_.back();
}

std::int64_t ParameterStore::total() const {
  std::int64_t sum = 0;
  for (const Parameter& p : parameters_) sum += p.count();
  return sum;
}

void ParameterStore::place(bool partial, std::int64_t& next) {
  for (Parameter& p : parameters_) {
    if (p.partial_gradient != partial) continue;
    p.weight = weights_.data() + next;
    if (!gradients_.empty()) p.gradient = gradients_.data() + next;
    next += p.count();
  }
}

void ParameterStore::fill(Compute& compute, std::uint64_t seed) {
  std::int64_t next = 0;
  place(false, next);
  partial_begin_ = next;
  place(true, next);
  partial_count_ = next - partial_begin_;
  for (const Parameter& p : parameters_) {
    const Bytes size = bytes(static_cast<double>(p.count()) * sizeof(float));
    begin_operation({.name = "initial weights", .amount = size, .slow = slow_transfer(size)});
    const auto values = initial_values(p, seed);
    compute.upload(p.weight, values.data(), values.size() * sizeof(float));
    compute.synchronize();
  }
}

void ParameterStore::allocate(Arena& arena, Compute& compute, int shards, std::uint64_t seed) {
  const std::int64_t padded = (total() + shards - 1) / shards * shards;
  weights_ = Tensor(arena, padded);
  gradients_ = Tensor(arena, padded);
  exp_avg_ = Tensor(arena, padded / shards);
  exp_avg_sq_ = Tensor(arena, padded / shards);
  for (const Tensor* t : {&weights_, &gradients_, &exp_avg_, &exp_avg_sq_}) {
    compute.fill_zero(t->data(), t->size());
  }
  fill(compute, seed);
}

void ParameterStore::allocate_weights(Arena& arena, Compute& compute, std::uint64_t seed) {
  weights_ = Tensor(arena, total());
  fill(compute, seed);
}

float hashed_number(std::uint64_t seed, std::uint64_t stream, std::uint64_t row,
                    std::uint64_t col) {
  const auto top = static_cast<std::uint32_t>(hash(seed, stream, row, col) >> 40U);  // 24 bits
  return static_cast<float>(top) / 8388608.0F - 1.0F;
}

std::int32_t hashed_integer(std::uint64_t seed, std::uint64_t stream, std::uint64_t row,
                            std::uint64_t col, std::int32_t bound) {
  return static_cast<std::int32_t>(hash(seed, stream, row, col) %
                                   static_cast<std::uint64_t>(bound));
}

std::uint64_t stream_of(const std::string& name) {
  std::uint64_t h = 0;
  for (const char c : name) h = mix(h ^ static_cast<std::uint8_t>(c));
  return h;
}

}  // namespace meshwright::calibrate
