// SPDX-License-Identifier: Apache-2.0
// How many experts a batch wakes, and how many tokens per step of speculation accepts.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace meshwright {

// Trained routers choose some experts more often. Popularity follows a gamma distribution of this
// shape; its deviation over its mean is 1 / sqrt(shape). Fitted on operator tables with skewed
// routing (scripts/fit-serving-operators). Routers that were not trained choose at random.
inline constexpr double kRoutingShape = 1.5;
inline constexpr double kRandomRouting = std::numeric_limits<double>::infinity();

// Distinct experts that B tokens choose, k of E each. At random: E (1 - (1 - k / E)^B) =
// E (1 - exp(-x)) with x = -B ln(1 - k / E); with gamma popularity E (1 - (1 + x / shape)^-shape).
inline double experts_touched(double experts, double topk, double tokens,
                              double shape = kRoutingShape) {
  if (tokens <= 0.0) return 0.0;
  if (topk >= experts) return experts;
  const double x = -tokens * std::log1p(-topk / experts);
  const double missed = std::isinf(shape) ? -x : -shape * std::log1p(x / shape);
  return std::max(-experts * std::expm1(missed), std::min(tokens, 1.0) * topk);
}

// The largest of n like amounts over their mean: 1 + z(n) * sigma / mean. z: mean of the largest of
// n standard normals (Tippett 1925), for n = 1, 2, 4, ..., 256; straight in log2 n between.
inline double slowest_over_mean(double ranks, double mean, double variance) {
  constexpr std::array kLargest{0.0, 0.564, 1.029, 1.424, 1.766, 2.070, 2.344, 2.594, 2.826};
  if (ranks <= 1.0 || mean <= 0.0 || variance <= 0.0) return 1.0;
  const double place = std::min(std::log2(ranks), kLargest.size() - 1.0);
  const auto low = std::min(static_cast<std::size_t>(place), kLargest.size() - 2);
  const double z =
      kLargest[low] + (place - static_cast<double>(low)) * (kLargest[low + 1] - kLargest[low]);
  return 1.0 + z * std::sqrt(variance) / mean;
}

// Tokens that a step yields with n drafts, each accepted with probability a if those before it
// were: (1 - a^(n + 1)) / (1 - a) (arXiv 2211.17192, equation 1).
inline double accepted_length(int drafts, double acceptance) {
  if (acceptance >= 1.0) return drafts + 1.0;
  return (1.0 - std::pow(acceptance, drafts + 1)) / (1.0 - acceptance);
}

}  // namespace meshwright
