// SPDX-License-Identifier: Apache-2.0
// What "best" means, by name, and what a layout may not exceed.
//
// tokens = global batch x sequence length. Tokens a dollar = tokens / (step x GPUs x price / 3600);
// tokens a joule = tokens / (step x GPUs x device power). On one GPU count all but memory_headroom
// rank layouts as step_time does; they differ where several counts are compared.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "planner/search/scenario.h"
#include "sim/base/units.h"

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

struct Limits {
  std::optional<Bytes> max_memory;  // of a device, whatever it has
  double headroom = 0.0;            // share of the device's memory to leave free
  std::optional<Seconds> max_step;
  std::optional<double> max_cost;  // of the whole training, in the price's currency
};
// The share of the device's memory that both memory limits leave free. Throws InputError when
// nothing would be left.
double memory_headroom(const Limits& limits, const Device& device);
// Throws InputError when a cost limit is set and price or train_tokens are not.
void check_limits(const Limits& limits, const Scenario& scenario);

// "takes 3.1 s of at most 3 s"; empty when the step obeys the limits on time and cost.
std::string exceeded(const Limits& limits, const Scenario& scenario, Seconds step_time);

}  // namespace meshwright::planner
