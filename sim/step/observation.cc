// SPDX-License-Identifier: Apache-2.0
#include "sim/step/observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "sim/base/statistics.h"

namespace meshwright {

Job with_precision(Job job, Precision precision) {
  job.precision = precision;
  if (bytes_per_element(precision) == 4.0) job.gradient_precision = Precision::fp32;
  return job;
}

Model model_as_run(Model model, const Observation& o) {
  if (o.run_layers > 0) model.num_layers = o.run_layers;
  const int experts = o.run_num_moe_experts;
  if (model.moe && experts > 0 && experts < model.moe->num_moe_experts) {
    model.moe->num_moe_experts = experts;
    model.moe->moe_router_num_groups = model.moe->moe_router_group_topk = 0;
  }
  return model;
}

double step_time_error(const Observation& o) {
  constexpr int kFewest = 4;
  if (o.steps < kFewest || o.step_time <= seconds(0)) return 0.0;
  const double sigma = (o.step_time_p90 - o.step_time_p10) / (kDecilesApart * o.step_time);
  return std::sqrt(std::numbers::pi / 2.0) * sigma / std::sqrt(static_cast<double>(o.steps));
}

double noise_of(const Observation& o) {
  return std::max({step_time_error(o) / kMostStepTimeError,
                   std::abs(o.step_time_drift) / kMostStepTimeDrift,
                   std::abs(o.host_time_ratio.value_or(1.0) - 1.0) / kMostHostDrift});
}

Observation calmer_of(Observation first, Observation second) {
  const int runs = first.runs + second.runs;
  Observation calmer = second.failure.empty() && noise_of(second) < noise_of(first)
                           ? std::move(second)
                           : std::move(first);
  calmer.runs = runs;
  return calmer;
}

std::string host_speed_words(double host_time_ratio) {
  const bool slower = host_time_ratio > 1.0;
  const double percent = 100.0 * ((slower ? host_time_ratio : 1.0 / host_time_ratio) - 1.0);
  if (percent < 0.5) return "as fast as calibrated";
  return fmt::format("{:.0f} % {} than calibrated", percent, slower ? "slower" : "faster");
}

std::string noise_words(double step_time_error, double step_time_drift,
                        std::optional<double> host_time_ratio, int runs) {
  std::string words = fmt::format("median +-{:.0f} %, drift {:+.0f} %", 100.0 * step_time_error,
                                  100.0 * step_time_drift);
  if (host_time_ratio) words += ", host " + host_speed_words(*host_time_ratio);
  if (runs > 1) words += fmt::format(", least noisy of {} runs", runs);
  return words;
}

std::string other_program_words(const OtherProgram& program) {
  if (program.core < 0) {
    return fmt::format("another program ({}) used {:.1f} cores", program.name, program.cores);
  }
  return fmt::format("another program ({}) used {:.0f} % of core {}", program.name,
                     100.0 * program.cores, program.core);
}

std::string noise_words(const Observation& o) {
  return noise_words(step_time_error(o), o.step_time_drift, o.host_time_ratio, o.runs);
}

}  // namespace meshwright
