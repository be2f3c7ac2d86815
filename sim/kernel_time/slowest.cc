// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/slowest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace meshwright {
namespace {

// Expected maximum of 2^k standard normals, by quadrature of n x phi(x) Phi(x)^(n-1).
constexpr std::array kOfPowersOfTwo{0.0,    0.5642, 1.0294, 1.4236, 1.7660, 2.0697, 2.3437,
                                    2.5946, 2.8269, 3.0439, 3.2482, 3.4418, 3.6261, 3.8023,
                                    3.9714, 4.1341, 4.2911, 4.4430, 4.5903, 4.7332, 4.8723};

}  // namespace

double expected_maximum(int ranks) {
  if (ranks <= 1) return 0.0;
  const double doublings = std::min(std::log2(ranks), kOfPowersOfTwo.size() - 1.0);
  const auto below = std::min(static_cast<std::size_t>(doublings), kOfPowersOfTwo.size() - 2);
  const double share = doublings - static_cast<double>(below);
  return kOfPowersOfTwo[below] * (1.0 - share) + kOfPowersOfTwo[below + 1] * share;
}

double slowest_of(int ranks, const Device& device) {
  return 1.0 + expected_maximum(ranks) * speed_spread(device);
}

double wait_for_slowest(int ranks, const Device& device) {
  return expected_maximum(ranks) * device.time_jitter;
}

}  // namespace meshwright
