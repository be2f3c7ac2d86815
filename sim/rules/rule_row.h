// SPDX-License-Identifier: Apache-2.0
// A rule as one row: what it is called, when it is broken, and what to say about it. The rows stand
// in *_rules.h, in the order in which they are checked; rules.cc puts them together.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "sim/rules/devices.h"

namespace meshwright {

// Check of rules.h that judges the rule, and so the inputs that it may read. A search judges many
// layouts at once by the part that they share.
enum class RulePart : std::uint8_t {
  sizes,           // model, job, GPUs and all of the layout but the switches of the other two
  data_switches,   // of the layout only ZeRO, what of its communication overlaps, and sizes
  stage_switches,  // model, job and layout
  memory,          // known after the layout was priced
};

struct RuleInput {
  const Model& model;
  const Job& job;
  const Layout& layout;
  Devices devices{};
  [[nodiscard]] int micro_batches() const {
    return num_micro_batches(job.global_batch_size, layout);
  }
};

// Required and actual value of a broken rule: divisor and number, or smallest and number.
struct Missed {
  double needed = 0;
  double available = 0;
};
using CheckResult = std::optional<Missed>;

// Amount by which a case missed, relative to the need: (needed - available) / needed if too little
// was there. If a size must divide, the distance of `available` to the next multiple of `needed`.
double shortfall(const Missed& missed);

// Case: a layout that trains (RuleInput), or a replica that serves (ServingRuleInput).
template <typename Case>
struct RuleRowOf {
  std::string_view name;  // stable, snake_case, as in JSON
  RulePart part{};
  CheckResult (*check)(const Case&) = nullptr;
  std::string_view requirement{};  // one sentence: what must hold
  std::string_view reason{};       // why, with its source
  std::string_view remedy{};       // advice: the field to change
  std::string (*sentence)(const Case&, const Missed&) = nullptr;
  UnsupportedBits lack = 0;  // of a rule on something that software, devices or links may lack
};
using RuleRow = RuleRowOf<RuleInput>;

constexpr Missed missed(std::int64_t needed, std::int64_t available) {
  return {static_cast<double>(needed), static_cast<double>(available)};
}
// `available` must be a multiple of `divisor`.
constexpr CheckResult must_divide(std::int64_t available, std::int64_t divisor) {
  if (available % divisor == 0) return std::nullopt;
  return missed(divisor, available);
}
constexpr CheckResult must_be_at_least(std::int64_t available, std::int64_t needed) {
  if (available >= needed) return std::nullopt;
  return missed(needed, available);
}

// "num_attention_heads 64 is not divisible by tensor_parallel_size 3"
inline std::string not_divisible(std::string_view field, std::int64_t value,
                                 std::string_view by_field, std::int64_t by) {
  return fmt::format("{} {} is not divisible by {} {}", field, value, by_field, by);
}
constexpr std::string_view on_or_off(bool on) { return on ? "on" : "off"; }
constexpr std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

}  // namespace meshwright
