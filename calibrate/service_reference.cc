// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_reference.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "calibrate/service_check.h"
#include "sim/base/statistics.h"

namespace meshwright::calibrate {
namespace {

constexpr int kRuns = 3;  // of a look at the host

class RunningService final : public ServiceReference {
 public:
  RunningService(const ServiceDemand& service, std::vector<Seconds> calibrated, Compute& compute,
                 Communicator& world)
      : steps_(served_steps(service)),
        calibrated_(std::move(calibrated)),
        check_(service, compute, world) {
    while (!check_.is_warm()) check_.run();
  }

  // Each step of the check weighs the same.
  HostTimes times() override {
    std::vector<double> all, decodes, prompts;
    for (int run = 0; run < kRuns; ++run) {
      check_.run();
      const std::vector<Seconds> times = check_.last_times();
      for (std::size_t i = 0; i < times.size(); ++i) {
        const double ratio = times[i] / calibrated_[i];
        const bool of_prompts = steps_[i].as<timed::ServedStep>()->shape.prompts;
        (of_prompts ? prompts : decodes).push_back(ratio);
        all.push_back(ratio);
      }
    }
    HostTimes found;
    found.all = median(std::move(all));
    found.of_kind.decode = median(std::move(decodes));
    // A check of stages has no steps of prompts.
    found.of_kind.prompt = prompts.empty() ? found.of_kind.decode : median(std::move(prompts));
    return found;
  }

 private:
  std::vector<MeasuredPoint> steps_;
  std::vector<Seconds> calibrated_;
  ServiceCheck check_;
};

// None where a step was not timed.
std::optional<std::vector<Seconds>> times_in(const std::vector<MeasuredPoint>& points,
                                             const ServiceDemand& service) {
  std::vector<Seconds> times;
  for (const MeasuredPoint& step : served_steps(service)) {
    const auto found = std::find_if(points.begin(), points.end(), [&](const MeasuredPoint& p) {
      return same_subject(p, step) && p.time() > seconds(0);
    });
    if (found == points.end()) return std::nullopt;
    times.push_back(found->time());
  }
  return times;
}

}  // namespace

std::unique_ptr<ServiceReference> start_service_reference(const std::vector<MeasuredPoint>& points,
                                                          const Model& model, const Engine& engine,
                                                          int tensor_parallel_size,
                                                          int pipeline_parallel_size,
                                                          Compute& compute, Communicator& world) {
  for (const auto& [tensor, stages] :
       {std::pair{tensor_parallel_size, pipeline_parallel_size}, std::pair{1, 1}}) {
    const auto service = service_alone(model, engine, tensor, stages);
    if (!service) continue;
    if (auto times = times_in(points, *service)) {
      return std::make_unique<RunningService>(*service, std::move(*times), compute, world);
    }
  }
  return nullptr;
}

}  // namespace meshwright::calibrate
