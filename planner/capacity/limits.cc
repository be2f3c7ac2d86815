// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/limits.h"

#include <fmt/format.h>

#include "sim/base/number_text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::planner {

std::optional<double> days_allowed(const CapacityOptions& options) {
  const CapacityLimits& limits = options.limits;
  // The deadline's own day counts.
  if (limits.deadline && options.start) {
    return days_between(*options.start, *limits.deadline) + 1.0;
  }
  return limits.deadline_days;
}

namespace {

std::string late_text(const CapacityRow& row, const CapacityOptions& options, double allowed) {
  const double days = row.run.days.p90;
  if (options.limits.deadline && options.start) {
    return fmt::format("P90 end is {}, after the deadline {}",
                       date_text(last_day(*options.start, days)),
                       date_text(*options.limits.deadline));
  }
  return fmt::format("P90 is {} days, {} are allowed", number_text(days, 3),
                     number_text(allowed, 3));
}

}  // namespace

std::vector<std::string> broken_limits(const CapacityRow& row, const CapacityQuestion& question) {
  const CapacityOptions& options = question.options;
  const CapacityLimits& limits = options.limits;
  std::vector<std::string> broken;
  const TrainingRun& run = row.run;
  if (limits.max_gpus && row.gpus > *limits.max_gpus) {
    const Cluster& cluster = question.clusters[row.cluster_case].cluster;
    broken.push_back(fmt::format("{} {} of at most {}", row.gpus, device_noun(cluster, row.gpus),
                                 *limits.max_gpus));
  }
  const std::optional<double> allowed = days_allowed(options);
  if (allowed && run.days.p90 > *allowed) broken.push_back(late_text(row, options, *allowed));
  if (limits.budget && run.cost && run.cost->p90 > *limits.budget) {
    constexpr double kMillion = 1e6;
    broken.push_back(fmt::format("P90 cost is {} M {}, {} M are allowed",
                                 number_text(run.cost->p90 / kMillion, 3), options.prices.currency,
                                 number_text(*limits.budget / kMillion, 3)));
  }
  if (limits.max_megawatts && run.megawatts_high && *run.megawatts_high > *limits.max_megawatts) {
    broken.push_back(fmt::format("draws up to {} MW, {} are allowed",
                                 number_text(*run.megawatts_high, 3),
                                 number_text(*limits.max_megawatts, 3)));
  }
  return broken;
}

}  // namespace meshwright::planner
