// SPDX-License-Identifier: Apache-2.0
// Named objectives of a search, and limits of a layout.
//
// tokens = global batch x sequence length. Tokens a dollar = tokens / (step x GPUs x price / 3600);
// tokens a joule = tokens / (step x GPUs x device power). On one GPU count all but memory_headroom
// rank layouts as step_time does; they differ where several counts are compared.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/units.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

enum class Objective {
  step_time,
  tokens_per_second,
  tokens_per_second_per_gpu,
  tokens_per_dollar,
  tokens_per_joule,
  memory_headroom,
};

struct ObjectiveText {
  Objective objective;
  std::string_view name;
  std::string_view unit;
  bool lower_is_better;
  std::string_view meaning;
};
std::span<const ObjectiveText> all_objectives();
const ObjectiveText& text_of(Objective objective);
// Throws InputError that lists the names.
Objective objective_named(const std::string& name);
// Throws InputError when the records say no price or power that the objective needs.
void check_objective(Objective objective, const Cluster& cluster);

// In the objective's unit.
double objective_value(Objective objective, const Scenario& scenario, Seconds step_time,
                       Bytes peak_memory);
bool better_value(Objective objective, double a, double b);

// Memory to leave free if the user states no limit. SimuMax's 22 published Megatron runs on B200
// reserve 1.056 to 1.063 bytes (median 1.060) for each byte allocated at the peak (docs/b200,
// release 1.2). That is 5 % of a device whose other memory is outside the allocator.
inline constexpr double kDefaultHeadroom = 0.05;
// The share that is left free unasked: as much as makes every fit certain (memory_fit.h).
double default_headroom(const MemoryFacts& facts);

struct Limits {
  std::optional<Bytes> max_memory;  // limit per device, instead of the device's own memory
  std::optional<double> headroom;   // share of the device's memory to leave free
  std::optional<Seconds> max_step;
  std::optional<double> max_cost;  // limit for the whole training, in the price's currency
};
// The share that is to be left free: the one that is named, none beside max_memory, or the default.
double asked_headroom(const Limits& limits, const MemoryFacts& facts);
// The share of the device's memory that both memory limits leave free. Throws InputError when
// nothing would be left.
double memory_headroom(const Limits& limits, const Device& device, const MemoryFacts& facts);
// Throws InputError when a cost limit is set and price or train_tokens are not.
void check_limits(const Limits& limits, const Scenario& scenario);

// "takes 3.1 s of at most 3 s"; empty when the step obeys the limits on time and cost.
std::string exceeded(const Limits& limits, const Scenario& scenario, Seconds step_time);

}  // namespace meshwright::planner
