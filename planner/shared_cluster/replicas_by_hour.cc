// SPDX-License-Identifier: Apache-2.0
#include "planner/shared_cluster/replicas_by_hour.h"

#include <algorithm>
#include <cmath>

#include "planner/search/training_cost.h"
#include "planner/shared_cluster/load_curve.h"

namespace meshwright::planner {
namespace {

constexpr double kMostLeadHours = 1000.0;  // more than any period

// The largest of `count` hours from `first` on.
int largest_from(const std::vector<int>& values, std::size_t first, std::size_t count) {
  int most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    most = std::max(most, values[(first + i) % values.size()]);
  }
  return most;
}

}  // namespace

int lead_hours(double start_seconds) {
  return static_cast<int>(std::min(kMostLeadHours, std::ceil(start_seconds / kSecondsPerHour)));
}

std::vector<int> held_replicas(const std::vector<int>& needed, int lead, int release) {
  const std::size_t hours = needed.size();
  const std::size_t ahead = std::min(hours, static_cast<std::size_t>(lead) + 1);
  const std::size_t window = std::clamp<std::size_t>(static_cast<std::size_t>(release), 1, hours);
  std::vector<int> started(hours), held(hours);
  for (std::size_t h = 0; h < hours; ++h) started[h] = largest_from(needed, h, ahead);
  // A window of `release` hours around h in which nothing above its largest is needed.
  for (std::size_t h = 0; h < hours; ++h) {
    held[h] = largest_from(started, h, window);
    for (std::size_t back = 1; back < window; ++back) {
      held[h] = std::min(held[h], largest_from(started, (h + hours - back) % hours, window));
    }
  }
  return held;
}

int gpus_of_host(const Cluster& cluster) {
  return cluster.gpus_per_tray > 0 ? cluster.gpus_per_tray : cluster.gpus_per_node;
}

int hosts_for_replicas(int replicas, int gpus_of_replica, int host_gpus) {
  if (gpus_of_replica >= host_gpus) {
    return replicas * ((gpus_of_replica + host_gpus - 1) / host_gpus);
  }
  const int each = host_gpus / gpus_of_replica;
  return (replicas + each - 1) / each;
}

}  // namespace meshwright::planner
