// SPDX-License-Identifier: Apache-2.0
// How many experts a batch wakes, and how many tokens a step of speculation accepts.
#pragma once

#include <cmath>

namespace meshwright {

// Distinct experts that B tokens choose, k of E each at random: E (1 - (1 - k / E)^B).
inline double experts_touched(double experts, double topk, double tokens) {
  if (topk >= experts) return tokens > 0 ? experts : 0.0;
  return -experts * std::expm1(tokens * std::log1p(-topk / experts));
}

// Tokens that a step yields with n drafts, each accepted with probability a if those before it
// were: (1 - a^(n + 1)) / (1 - a) (arXiv 2211.17192, equation 1).
inline double accepted_length(int drafts, double acceptance) {
  if (acceptance >= 1.0) return drafts + 1.0;
  return (1.0 - std::pow(acceptance, drafts + 1)) / (1.0 - acceptance);
}

}  // namespace meshwright
