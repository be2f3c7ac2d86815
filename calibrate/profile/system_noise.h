// SPDX-License-Identifier: Apache-2.0
// System noise: time that other processes take from ranks on a host's cores. A median of short
// samples excludes it, but a step contains all of it. If ranks synchronise in every layer, each
// also waits for the noise of the others (Hoefler, Schneider and Lumsdaine, Characterizing the
// Influence of System Noise on Large-Scale Applications by Simulation, SC 2010). Pure.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// Sums are over all calls of all points of a kind. A point is measured for about as long as a step
// takes, so that a rank which is slower all the while is slower in a step, too: that is no jitter.
struct SystemNoise {
  // For GEMMs and kernels: mean time of the slowest rank over all its samples, over the median of
  // each sample's slowest rank: sum(rank_mean) / sum(median).
  double compute_ratio = 1.0;
  // For collectives, which end with their slowest rank: sum(mean) / sum(median).
  double collective_ratio = 1.0;
  // Standard deviation of a rank's time for a product or kernel from call to call, relative: of n
  // ranks the slowest of each sample takes c(n) of them longer than the slowest of all
  // (sim/kernel_time/slowest.h), so it is (sum(mean) / sum(rank_mean) - 1) / c(n).
  double time_jitter = 0.0;
};

// Noise during a calibration by `ranks` ranks. None if no point has means, as in other tools' times
// and older profiles.
SystemNoise system_noise(const std::vector<MeasuredPoint>& points, int ranks);

// The points as a step meets them: times of collectives, and all others, as much longer.
std::vector<MeasuredPoint> with_system_noise(std::vector<MeasuredPoint> points,
                                             const SystemNoise& noise);

// Sentence on the noise of so many ranks for the reader of a profile; empty below 1 %.
std::string system_noise_words(const SystemNoise& noise, int ranks);

}  // namespace meshwright::calibrate
