// SPDX-License-Identifier: Apache-2.0
#include "calibrate/reference_step.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "calibrate/step_check.h"
#include "calibrate/workload.h"

namespace meshwright::calibrate {
namespace {

class RunningReference : public SpeedReference {
 public:
  RunningReference(const ReferenceStep& reference, Compute& compute, Communicator& ranks)
      : calibrated_(reference.calibrated), check_(reference.step, compute, ranks) {
    while (!check_.is_warm()) check_.run();
  }

  double time_ratio() override {
    check_.run();
    return check_.last_time() / calibrated_;
  }

 private:
  Seconds calibrated_;
  StepCheck check_;
};

// None where a pass was not timed.
std::optional<Seconds> time_in(const std::vector<MeasuredPoint>& points, const StepDemand& step) {
  Seconds sum;
  for (const MeasuredPoint& pass : step_passes(step)) {
    const auto found = std::find_if(points.begin(), points.end(),
                                    [&](const MeasuredPoint& p) { return same_subject(p, pass); });
    if (found == points.end()) return std::nullopt;
    sum += found->time();
  }
  if (sum <= seconds(0)) return std::nullopt;
  return sum;
}

}  // namespace

std::vector<ReferenceStep> reference_steps(const std::vector<MeasuredPoint>& points,
                                           const Model& model, const Job& job) {
  std::set<int> sizes;
  for (const MeasuredPoint& p : points) {
    const auto* pass = p.as<timed::StepPass>();
    if (pass != nullptr) sizes.insert(static_cast<int>(pass->tokens / job.seq_length));
  }
  std::vector<ReferenceStep> steps;
  for (const int size : sizes) {
    if (size < 1) continue;
    const std::optional<StepDemand> step = step_alone(model, job, size);
    if (!step) continue;
    if (const auto time = time_in(points, *step)) steps.push_back({*step, *time});
  }
  return steps;
}

const ReferenceStep* nearest_reference(const std::vector<ReferenceStep>& steps,
                                       int micro_batch_size) {
  const auto distance = [&](const ReferenceStep& s) {
    return std::abs(std::log(static_cast<double>(s.step.layout.micro_batch_size) /
                             static_cast<double>(micro_batch_size)));
  };
  const auto nearest = std::min_element(
      steps.begin(), steps.end(),
      [&](const ReferenceStep& a, const ReferenceStep& b) { return distance(a) < distance(b); });
  return nearest == steps.end() ? nullptr : &*nearest;
}

std::unique_ptr<SpeedReference> start_reference(const ReferenceStep& reference, Compute& compute,
                                                Communicator& ranks) {
  return std::make_unique<RunningReference>(reference, compute, ranks);
}

}  // namespace meshwright::calibrate
