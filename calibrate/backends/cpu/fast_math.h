// SPDX-License-Identifier: Apache-2.0
// exp and the logistic function as straight-line code that a compiler turns into vector code.
//
// exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln(2)/2: Taylor series to r^6 leaves
// r^7/7! < 1.2e-7 relative. x is clamped to [-87, 88], where 2^n is a normal float; below that the
// result is 1.6e-38 instead of a smaller number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace meshwright::calibrate::cpu {

inline float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;    // 355/512: n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4F;  // ln 2 - kLn2High
  x = std::min(std::max(x, -87.0F), 88.0F);
  const float t = x * kLog2E;
  const auto n = static_cast<std::int32_t>(t + (t < 0.0F ? -0.5F : 0.5F));
  const auto exponent = static_cast<float>(n);
  const float r = (x - exponent * kLn2High) - exponent * kLn2Low;
  float p = 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  return p * std::bit_cast<float>((n + 127) << 23);
}

// 1 / (1 + exp(-x)); tanh(u) is 2 * fast_logistic(2u) - 1.
inline float fast_logistic(float x) { return 1.0F / (1.0F + fast_exp(-x)); }

}  // namespace meshwright::calibrate::cpu
