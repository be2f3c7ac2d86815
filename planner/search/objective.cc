// SPDX-License-Identifier: Apache-2.0
#include "planner/search/objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "planner/search/training_cost.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"
#include "sim/memory/memory_fit.h"
#include "sim/record/reader.h"

namespace meshwright::planner {
namespace {

constexpr std::array kObjectives{
    ObjectiveText{Objective::step_time, "step_time", "s", true, "seconds per step"},
    ObjectiveText{Objective::tokens_per_second, "tokens_per_second", "1/s", false,
                  "tokens per second of all GPUs"},
    ObjectiveText{Objective::tokens_per_second_per_gpu, "tokens_per_second_per_gpu", "1/s", false,
                  "tokens per second of one GPU"},
    ObjectiveText{Objective::tokens_per_dollar, "tokens_per_dollar", "1", false,
                  "tokens per unit of the price's currency"},
    ObjectiveText{Objective::tokens_per_joule, "tokens_per_joule", "1/J", false,
                  "tokens per joule at the devices' rated power, without cooling"},
    ObjectiveText{Objective::memory_headroom, "memory_headroom", "%", false,
                  "share of the device's memory left free"},
};

}  // namespace

std::span<const ObjectiveText> all_objectives() { return kObjectives; }

const ObjectiveText& text_of(Objective objective) {
  return kObjectives[static_cast<std::size_t>(objective)];
}

Objective objective_named(const std::string& name) {
  std::vector<std::string> names;
  for (const ObjectiveText& text : kObjectives) {
    if (text.name == name) return text.objective;
    names.emplace_back(text.name);
  }
  throw InputError("--objective", "",
                   fmt::format("must be one of {} (got \"{}\")", fmt::join(names, ", "), name),
                   did_you_mean(name, names));
}

void check_objective(Objective objective, const Cluster& cluster) {
  if (objective == Objective::tokens_per_dollar && !cluster.price_per_gpu_hour) {
    throw InputError(
        "--objective", "", "tokens_per_dollar needs a price; the cluster has none",
        with_device_noun(
            "add --price 2.5 (per GPU-hour), or price_per_gpu_hour to the cluster's file",
            cluster));
  }
  if (objective == Objective::tokens_per_joule && !only_device(cluster).power_watts) {
    throw InputError("--objective", "",
                     "tokens_per_joule needs the device's power; the device file has none",
                     "add power_watts to the device's file");
  }
}

double objective_value(Objective objective, const Scenario& scenario, Seconds step_time,
                       Bytes peak_memory) {
  const Cluster& cluster = scenario.cluster;
  const double tokens =
      static_cast<double>(scenario.job.global_batch_size) * scenario.job.seq_length;
  const double per_second = tokens / step_time.value();
  switch (objective) {
    case Objective::step_time:
      return step_time.value();
    case Objective::tokens_per_second:
      return per_second;
    case Objective::tokens_per_second_per_gpu:
      return per_second / cluster.num_gpus();
    case Objective::tokens_per_dollar:
      return per_second * kSecondsPerHour /
             (cluster.num_gpus() * cluster.price_per_gpu_hour.value());
    case Objective::tokens_per_joule:
      return per_second / (cluster.num_gpus() * only_device(cluster).power_watts.value());
    case Objective::memory_headroom:
      return 100.0 * (1.0 - peak_memory / only_device(cluster).memory);
  }
  return 0.0;
}

bool better_value(Objective objective, double a, double b) {
  return text_of(objective).lower_is_better ? a < b : a > b;
}

double default_headroom(const MemoryFacts& facts) {
  return std::max(kDefaultHeadroom, sure_headroom(facts));
}

double asked_headroom(const Limits& limits, const MemoryFacts& facts) {
  return limits.headroom.value_or(limits.max_memory ? 0.0 : default_headroom(facts));
}

double memory_headroom(const Limits& limits, const Device& device, const MemoryFacts& facts) {
  double headroom = asked_headroom(limits, facts);
  if (limits.max_memory) headroom = std::max(headroom, 1.0 - *limits.max_memory / device.memory);
  if (headroom >= 1.0 || headroom < 0.0) {
    throw InputError(
        "--headroom", "",
        fmt::format("must be from 0 to below 100 % (got {} %)", number_text(headroom * 100.0, 3)));
  }
  return headroom;
}

void check_limits(const Limits& limits, const Scenario& scenario) {
  if (!limits.max_cost) return;
  if (!scenario.cluster.price_per_gpu_hour) {
    throw InputError("--max-cost", "", "needs a price; the cluster has none",
                     with_device_noun("add --price 2.5 (per GPU-hour)", scenario.cluster));
  }
  if (!scenario.job.train_tokens) {
    throw InputError("--max-cost", "", "needs the number of training tokens",
                     "add --train-tokens 15e12");
  }
}

std::string exceeded(const Limits& limits, const Scenario& scenario, Seconds step_time) {
  if (limits.max_step && step_time > *limits.max_step) {
    return fmt::format("takes {} s, the limit is {} s", number_text(step_time.value()),
                       number_text(limits.max_step->value()));
  }
  if (!limits.max_cost) return "";
  const auto needs = training_cost(scenario.job, scenario.cluster, step_time);
  if (!needs || !needs->cost || *needs->cost <= *limits.max_cost) return "";
  return fmt::format("costs {}, the limit is {}", number_text(*needs->cost),
                     number_text(*limits.max_cost));
}

}  // namespace meshwright::planner
