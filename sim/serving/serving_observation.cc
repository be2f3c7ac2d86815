// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/serving_observation.h"

#include <algorithm>

namespace meshwright {

Seconds median_decode_step(const ServingObservation& o) {
  std::vector<Seconds> times;
  for (const ObservedServingStep& one : o.steps) {
    if (one.step.prefill_tokens == 0.0) times.push_back(one.time);
  }
  std::sort(times.begin(), times.end());
  return percentile(times, 50);
}

}  // namespace meshwright
