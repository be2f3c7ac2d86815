// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/states/parameters.h"

#include <algorithm>
#include <numeric>
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

// The host makes them, whatever the device: the watch over ranks sees that it goes on.
std::vector<float> initial_values(const Parameter& p, std::uint64_t seed) {
  constexpr std::int64_t kBetweenReports = std::int64_t{1} << 22U;
  const Bytes size = bytes(static_cast<double>(p.count()) * sizeof(float));
  std::vector<float> values(static_cast<std::size_t>(p.count()));
  const std::uint64_t stream = stream_of(p.name);
  for (std::int64_t i = 0; i < p.count(); ++i) {
    if (i % kBetweenReports == 0) {
      begin_operation({.name = "initial weights", .amount = size, .slow = slow_transfer(size)});
    }
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

void ParameterUnit::take_weights(Arena& arena) {
  weights = Tensor(arena, total);
  std::int64_t next = 0;
  for (Parameter* p : members) p->weight = weights.data() + std::exchange(next, next + p->count());
  if (operand_format == Precision::fp32) return;
  operands = Tensor(arena, total, operand_format);
  next = 0;
  for (Parameter* p : members) {
    p->sixteen_bits = operands.numbers().from(std::exchange(next, next + p->count()));
  }
}

void ParameterUnit::round_weights(Compute& compute) {
  if (operands.empty()) return;
  compute.convert(operands.numbers().data, operand_format, weights.data(), total);
}

void ParameterUnit::release_weights() {
  weights.release();
  operands.release();
}

void ParameterUnit::take_gradients(Arena& arena) {
  gradients = Tensor(arena, total);
  std::int64_t next = 0;
  for (Parameter* p : members) {
    p->gradient = gradients.data() + std::exchange(next, next + p->count());
  }
}

void ParameterStore::begin_unit(int key, int pieces) {
  key_ = key;
  pieces_ = pieces;
}

ParameterUnit& ParameterStore::unit_of(const Parameter& parameter) {
  const auto found = std::find_if(units_.begin(), units_.end(), [&](const ParameterUnit& unit) {
    return unit.key == parameter.unit && unit.expert == parameter.expert;
  });
  if (found != units_.end()) return *found;
  ParameterUnit& unit = units_.emplace_back();
  unit.key = parameter.unit;
  unit.expert = parameter.expert;
  unit.pieces = pieces_;
  return unit;
}

Parameter& ParameterStore::add(Parameter parameter) {
  parameter.unit = key_;
  parameters_.push_back(std::move(parameter));
  Parameter& added = parameters_.back();
  unit_of(added).members.push_back(&added);
  return added;
}

// Partial gradients last.
void ParameterStore::place(const KeptStates& kept) {
  for (ParameterUnit& unit : units_) {
    const auto partial =
        std::stable_partition(unit.members.begin(), unit.members.end(),
                              [](const Parameter* p) { return !p->partial_gradient; });
    const auto count = [](auto first, auto last) {
      return std::accumulate(first, last, std::int64_t{0},
                             [](std::int64_t sum, const Parameter* p) { return sum + p->count(); });
    };
    unit.partial_begin = count(unit.members.begin(), partial);
    unit.partial_count = count(partial, unit.members.end());
    unit.shards = unit.expert ? kept.expert : kept.dense;
    unit.operand_format = kept.operands;
    const std::int64_t parts = std::int64_t{unit.pieces} * unit.shards.count;
    unit.total = (unit.partial_begin + unit.partial_count + parts - 1) / parts * parts;
  }
}

void ParameterStore::fill(ParameterUnit& unit, Compute& compute, std::uint64_t seed) {
  compute.fill_zero(unit.weights.data(), unit.weights.size());
  for (const Parameter* p : unit.members) {
    const auto values = initial_values(*p, seed);
    compute.upload(p->weight, values.data(), values.size() * sizeof(float));
    compute.synchronize();
  }
  unit.round_weights(compute);
}

namespace {

// This rank's part of each piece.
void keep_shard(ParameterUnit& unit, Arena& arena, Compute& compute) {
  unit.shard_weights = Tensor(arena, unit.total / unit.shards.count);
  const std::int64_t piece = unit.total / unit.pieces, share = piece / unit.shards.count;
  for (std::int64_t i = 0; i < unit.pieces; ++i) {
    compute.copy(unit.shard_weights.data() + i * share,
                 unit.weights.data() + i * piece + share * unit.shards.rank,
                 static_cast<std::size_t>(share) * sizeof(float));
  }
  unit.release_weights();
}

Tensor zeros(Arena& arena, Compute& compute, std::int64_t count) {
  Tensor t(arena, count);
  compute.fill_zero(t.data(), t.size());
  return t;
}

}  // namespace

void ParameterStore::allocate(Arena& arena, Compute& compute, const KeptStates& kept,
                              std::uint64_t seed) {
  place(kept);
  for (ParameterUnit& unit : units_) {
    const std::int64_t share = unit.total / unit.shards.count;
    unit.take_weights(arena);
    fill(unit, compute, seed);
    if (!kept.whole_weights) keep_shard(unit, arena, compute);
    if (kept.whole_gradients) {
      unit.take_gradients(arena);
    } else if (kept.gradients) {
      unit.shard_gradients = zeros(arena, compute, share);
    }
    if (kept.moments_on_host) continue;
    unit.exp_avg = zeros(arena, compute, share);
    unit.exp_avg_sq = zeros(arena, compute, share);
  }
}

void ParameterStore::allocate_weights(Arena& arena, Compute& compute, std::uint64_t seed,
                                      Precision operands) {
  KeptStates kept;
  kept.operands = operands;
  place(kept);
  for (ParameterUnit& unit : units_) {
    unit.take_weights(arena);
    fill(unit, compute, seed);
  }
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
