// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/remainder.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/base/statistics.h"

namespace meshwright {
namespace {

// The measured micro-batches around one of so many tokens, and how far it is from the smaller to
// the larger; both the same outside.
struct Around {
  const StepRemainder* below = nullptr;
  const StepRemainder* above = nullptr;
  double way = 0.0;
};

Around around(const Device& device, ComputePass pass, std::int64_t tokens) {
  Around found;
  for (const StepRemainder& r : device.step_remainders) {
    if (r.pass != pass) continue;
    if (r.tokens <= tokens || found.below == nullptr) found.below = &r;
    found.above = &r;
    if (r.tokens >= tokens) break;
  }
  if (found.below == nullptr || found.below->tokens >= found.above->tokens) return found;
  if (found.above->tokens <= tokens) return {found.above, found.above, 0.0};
  const auto log = [](std::int64_t n) { return std::log2(static_cast<double>(n)); };
  found.way = (log(tokens) - log(found.below->tokens)) /
              (log(found.above->tokens) - log(found.below->tokens));
  return found;
}

double between(double a, double b, double way) { return a + way * (b - a); }

}  // namespace

double remainder_share(const Device& device, ComputePass pass, std::int64_t tokens) {
  const Around found = around(device, pass, tokens);
  if (found.below == nullptr) return 0.0;
  return between(found.below->share, found.above->share, found.way);
}

double movement_of_passes(const Device& device) {
  std::vector<double> spreads;
  for (const StepRemainder& r : device.step_remainders) {
    if (r.pass != ComputePass::optimizer) spreads.push_back(r.relative_spread);
  }
  return spreads.empty() ? 0.0 : median(std::move(spreads));
}

Cost with_remainder(Cost operators, const Device& device, ComputePass pass, std::int64_t tokens) {
  const Around found = around(device, pass, tokens);
  if (found.below == nullptr) return operators;
  operators.time *= 1.0 + between(found.below->share, found.above->share, found.way);
  operators.relative_spread =
      between(found.below->relative_spread, found.above->relative_spread, found.way);
  return operators;
}

}  // namespace meshwright
