// SPDX-License-Identifier: Apache-2.0
// bf16 on the host: the upper half of fp32.
#pragma once

#include <bit>
#include <cstdint>

namespace meshwright::calibrate {

// Rounded to nearest, ties to even. Not a number keeps its top bits and a set quiet bit, so that
// the rounding cannot make it infinite.
constexpr std::uint16_t bf16_of(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>((nan ? bits | 0x400000U : rounded) >> 16U);
}

constexpr float float_of_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

}  // namespace meshwright::calibrate
