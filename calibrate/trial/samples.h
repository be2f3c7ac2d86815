// SPDX-License-Identifier: Apache-2.0
// The timed steps of a trial, gathered from all ranks, and what an observation says of them.
#pragma once

#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/trial/ranks/recorder.h"
#include "sim/step/observation.h"

namespace meshwright::calibrate {

// The median of the later half of the steps over that of the earlier one, less 1; the step between
// the halves of an odd number is in neither. 0 of fewer than 4.
double drift_of(const std::vector<double>& steps);

// How much longer the steps took than at the calibrated speed: their median over the median of each
// step's time less its slowdown, median(t_i) / median(t_i / s_i). As many slowdowns as steps.
double host_time_ratio_of(const std::vector<double>& steps, const std::vector<double>& slowdowns);

class Samples {
 public:
  // `at_end`: what it is called that a rank has done its part before the step is over.
  explicit Samples(TermKind at_end = TermKind::host) : at_end_(at_end) {}
  // Collective over `ranks`. `same_calls`: every rank makes the same transfers.
  void add(const Recorder& recorder, Communicator& ranks, bool same_calls);
  // Time of a reference around the step that was added last, over its calibrated time.
  void add_slowdown(double slowdown) { slowdowns_.push_back(slowdown); }
  [[nodiscard]] bool empty() const { return step_.empty(); }
  // Tells whether the samples are noisy, by the rule of the observation (sim/step/observation.h).
  [[nodiscard]] bool is_noisy() const;
  // Times and terms; of each of `passes` that a step was made of.
  void describe(Observation& o, int passes) const;
  // A step's transfers, with the times of each of `passes`.
  [[nodiscard]] std::vector<CountedTransfer> counted(const std::vector<Transfer>& transfers,
                                                     int passes) const;

 private:
  TermKind at_end_;
  std::vector<double> step_;                    // seconds of the slowest rank
  std::vector<double> slowdowns_;               // of each step; empty: no reference was run
  std::vector<Recorder::Terms> terms_;          // of the rank that waited least in that step
  std::vector<std::vector<double>> transfers_;  // seconds of each transfer, a step each
};

// The intervals of every rank. Collective over `ranks`.
std::vector<ObservedInterval> gathered_intervals(const Recorder& recorder, Communicator& ranks);

}  // namespace meshwright::calibrate
