// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_reference.h"

#include <algorithm>
#include <utility>

#include "calibrate/service_check.h"
#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

constexpr int kRuns = 3;  // of a look at the host

class RunningService final : public SpeedReference {
 public:
  RunningService(const ServiceDemand& service, std::vector<Seconds> calibrated, Compute& compute,
                 Communicator& world)
      : calibrated_(std::move(calibrated)), check_(service, compute, world) {
    while (!check_.is_warm()) check_.run();
  }

  // The median over all steps of the runs: each kind of step weighs the same.
  double time_ratio() override {
    std::vector<double> ratios;
    for (int run = 0; run < kRuns; ++run) {
      check_.run();
      const std::vector<Seconds> times = check_.last_times();
      for (std::size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / calibrated_[i]);
    }
    return median(std::move(ratios));
  }

 private:
  std::vector<Seconds> calibrated_;
  ServiceCheck check_;
};

}  // namespace

std::unique_ptr<SpeedReference> start_service_reference(const std::vector<MeasuredPoint>& points,
                                                        const Model& model, const Engine& engine,
                                                        Compute& compute, Communicator& world) {
  const auto service = service_alone(model, engine, 1, 1);
  if (!service) return nullptr;
  std::vector<Seconds> calibrated;
  for (const MeasuredPoint& step : served_steps(*service)) {
    const auto found = std::find_if(points.begin(), points.end(), [&](const MeasuredPoint& p) {
      return same_subject(p, step) && p.time() > seconds(0);
    });
    if (found == points.end()) return nullptr;
    calibrated.push_back(found->time());
  }
  return std::make_unique<RunningService>(*service, std::move(calibrated), compute, world);
}

}  // namespace meshwright::calibrate
