// SPDX-License-Identifier: Apache-2.0
// A job that trains, saves, fails and restarts, event by event: the oracle of the closed forms.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "planner/capacity/goodput.h"

namespace meshwright::planner {

struct SimulatedRun {
  double elapsed = 0.0, saving = 0.0, recovering = 0.0, failures = 0.0;
};

// Until `productive` seconds are trained and saved. Failures come while the job is up; the state is
// what was last written to storage.
inline SimulatedRun simulate_training(const Disruption& d, Seconds interval, Seconds productive,
                                      unsigned seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> between(1.0 / d.mean_time_between.value());
  SimulatedRun run;
  double up = 0.0;  // since the start, restarts not counted
  double next = between(random);
  double written = 0.0, saved = 0.0, trained = 0.0;  // progress
  double readable_at = 0.0;                          // when `saved` becomes `written`
  double saving = 0.0;
  while (written < productive.value()) {
    const double segment = interval.value() + d.save_pause.value();
    const double end = up + segment;
    if (next >= end) {
      if (readable_at <= end) written = saved;
      up = end;
      trained += interval.value();
      saving += d.save_pause.value();
      if (saved > written) readable_at = std::max(readable_at, up);
      saved = trained;
      readable_at = up + d.persist.value();
      if (d.persist.value() == 0.0) written = saved;
      continue;
    }
    if (readable_at <= next) written = saved;
    up = next;
    trained = saved = written;
    readable_at = up;
    next = up + between(random);
    run.failures += 1.0;
    run.recovering += d.recovery().value();
  }
  run.saving = saving;
  run.elapsed = up + run.recovering;
  return run;
}

// Share of the GPUs that train where each of the replicas fails alone.
inline double simulate_replicas(const Disruption& d, double length, unsigned seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> between(1.0 / (d.mean_time_between.value() * d.replicas));
  double trained = 0.0;
  for (int replica = 0; replica < d.replicas; ++replica) {
    double now = 0.0;
    while (now < length) {
      const double up = between(random);
      trained += std::min(up, length - now);
      now += up + d.recovery().value();
    }
  }
  return trained / (length * d.replicas);
}

}  // namespace meshwright::planner
