// SPDX-License-Identifier: Apache-2.0
// Numbers in memory that ranks send each other: of 32 bits, or of 16 in the format that is said.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/base/job.h"

namespace meshwright::calibrate {

// Bytes of one number: 4, or 2 (fp16, bf16).
constexpr std::size_t size_of_number(Precision format) {
  return static_cast<std::size_t>(bytes_per_element(format));
}

struct Numbers {
  void* data = nullptr;
  Precision format = Precision::fp32;

  Numbers() = default;
  Numbers(float* numbers) : data(numbers) {}  // NOLINT(google-explicit-constructor): the usual
  Numbers(void* numbers, Precision of) : data(numbers), format(of) {}

  // Numbers from the index on.
  [[nodiscard]] Numbers from(std::int64_t index) const {
    return {
        static_cast<std::byte*>(data) + static_cast<std::size_t>(index) * size_of_number(format),
        format};
  }
};

struct ConstNumbers {
  const void* data = nullptr;
  Precision format = Precision::fp32;

  ConstNumbers() = default;
  ConstNumbers(const float* numbers) : data(numbers) {}  // NOLINT(google-explicit-constructor)
  ConstNumbers(Numbers numbers)                          // NOLINT(google-explicit-constructor)
      : data(numbers.data), format(numbers.format) {}
  ConstNumbers(const void* numbers, Precision of) : data(numbers), format(of) {}

  [[nodiscard]] ConstNumbers from(std::int64_t index) const {
    return {static_cast<const std::byte*>(data) +
                static_cast<std::size_t>(index) * size_of_number(format),
            format};
  }
};

}  // namespace meshwright::calibrate
