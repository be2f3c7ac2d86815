// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/stopping.h"

#include <cmath>
#include <numbers>

#include "calibrate/measure/measurement.h"

namespace meshwright::calibrate {

StopReason stop_reason(const StopOptions& options, std::span<const double> samples,
                       double elapsed_seconds) {
  const auto count = static_cast<int>(samples.size());
  if (count < options.min_samples) return StopReason::go_on;
  if (count >= options.max_samples) return StopReason::enough_samples;
  if (elapsed_seconds >= options.max_seconds) return StopReason::time_used_up;
  if (elapsed_seconds < options.min_seconds) return StopReason::go_on;
  const Summary summary = summarise({samples.begin(), samples.end()});
  const double error =
      std::sqrt(std::numbers::pi / 2.0) * summary.relative_spread / std::sqrt(count);
  return error <= options.target_error ? StopReason::steady : StopReason::go_on;
}

}  // namespace meshwright::calibrate
