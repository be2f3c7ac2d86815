// SPDX-License-Identifier: Apache-2.0
// Checks a calibration of cores with a step of the model itself: each rank runs one micro-batch
// alone, forward, backward and the optimizer, and each pass is compared with the predicted sum of
// its operators. The remainder is dispatch, copies, the allocator and what operators leave in the
// caches.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/sweep.h"
#include "calibrate/whole_step.h"

namespace meshwright::calibrate {

class TrialStep;

// The points of a step, without times.
std::vector<MeasuredPoint> step_passes(const StepDemand& step);

class StepCheck final : public WholeStep {
 public:
  // Times are without what ranks wait for their cores, where `core_waits` says it.
  StepCheck(const StepDemand& step, Compute& compute, Communicator& world, Clock core_waits = {});
  ~StepCheck() override;
  void run() override;
  [[nodiscard]] bool has_enough() const override;
  // The next step is the first that counts.
  [[nodiscard]] bool is_warm() const;
  // Sum of the last step's passes, each of its slowest rank. 0 before one counted.
  [[nodiscard]] Seconds last_time() const;
  // Of each pass's slowest rank.
  [[nodiscard]] std::vector<MeasuredPoint> points() const override;

 private:
  StepDemand demand_;
  Communicator& world_;
  std::unique_ptr<Communicator> alone_;
  std::unique_ptr<TrialStep> trial_;
  Clock core_waits_;
  std::vector<std::vector<double>> samples_;  // seconds, of each pass
  int runs_ = 0;
};

// Gives the step's points among `points` the sums of their operators on this cluster, which knows
// no remainders. A step that does not fit the cluster's memory keeps 0.
void predict_operators(const StepDemand& step, const Cluster& cluster,
                       std::vector<MeasuredPoint>& points);

// "step of small-llama, 256 tokens: forward +2 %, backward -1 %, optimizer +9 % of the sum of their
// operators"; empty where no point is of it.
std::string remainder_words(const StepDemand& step, const std::vector<MeasuredPoint>& points);

}  // namespace meshwright::calibrate
