// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/goodput_curves.h"

#include <algorithm>
#include <array>
#include <utility>

#include "planner/capacity/failures.h"

namespace meshwright::planner {
namespace {

constexpr std::array kCurveFactors{0.25, 0.5, 1.0, 2.0, 4.0};

Seconds longest_step_of(const CapacityRow& row) {
  Seconds longest;
  for (const CapacityPhase& phase : row.phases) {
    longest = std::max(longest, phase.estimate.step_time);
  }
  return longest;
}

}  // namespace

double goodput_at(const Model& model, const Job& job, const CapacityOptions& options, int gpus,
                  const GoodputWork& work) {
  const CheckpointPlan checkpoint = checkpoint_plan(model, job, gpus, options, work.longest_step);
  const Disruption disruption = disruption_of(checkpoint, options.failures, gpus);
  return time_parts(work.productive, disruption, checkpoint.interval, added_time_of(options, gpus))
      .goodput();
}

GoodputCurves goodput_curves(const CapacityQuestion& question, const CapacityRow& row) {
  GoodputCurves made;
  for (const double factor : kCurveFactors) {
    const int gpus = static_cast<int>(row.gpus * factor);
    if (gpus == row.gpus || gpus >= kGpusOfAReportedNode) made.gpus.push_back(gpus);
  }
  const Seconds longest = longest_step_of(row);
  for (const double factor : kCurveFactors) {
    CapacityOptions options = question.options;
    options.failures.restart_seconds = times(options.failures.restart_seconds, factor);
    GoodputCurve curve{.restart = seconds(options.failures.restart_seconds.value)};
    for (const int gpus : made.gpus) {
      const GoodputWork work{row.run.time.productive * (static_cast<double>(row.gpus) / gpus),
                             longest};
      curve.goodput.push_back(
          goodput_at(question.model, row.main_phase().job, options, gpus, work));
    }
    made.curves.push_back(std::move(curve));
  }
  return made;
}

}  // namespace meshwright::planner
