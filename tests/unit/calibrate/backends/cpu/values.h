// SPDX-License-Identifier: Apache-2.0
// Test data: a fixed sequence of numbers in [-1, 1) that looks random, the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace meshwright::calibrate::cpu {

inline std::vector<float> values(std::int64_t count, std::uint32_t seed, float scale = 1.0F) {
  std::vector<float> v(static_cast<std::size_t>(count));
  std::uint32_t state = seed * 2654435761U + 1U;
  for (float& x : v) {
    state = state * 1664525U + 1013904223U;
    x = scale * (static_cast<float>(state >> 8U) / 8388608.0F - 1.0F);
  }
  return v;
}

}  // namespace meshwright::calibrate::cpu
