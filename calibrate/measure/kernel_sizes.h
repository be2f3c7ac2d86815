// SPDX-License-Identifier: Apache-2.0
// Sizes of the memory-bound kernels of one layer and its head, as one tensor-parallel rank has
// them.
#pragma once

#include <cstdint>
#include <string_view>

namespace meshwright::calibrate {

struct KernelSizes {
  std::int64_t positions = 256, batch = 2;  // rows = positions * batch
  std::int64_t hidden = 512, ffn = 2048, heads = 8, vocab = 8192;
  bool gated = false;  // the MLP's activation is swiglu, else gelu
  [[nodiscard]] std::int64_t rows() const { return positions * batch; }
  bool operator==(const KernelSizes&) const = default;
};

// Casts to fp8, each a point of its own. The model prices all of them as the kernel before the dot.
namespace narrow_kernel {
inline constexpr std::string_view kCast = "quantize.cast";
inline constexpr std::string_view kCastTranspose = "quantize.cast_transpose";
inline constexpr std::string_view kTranspose = "quantize.transpose";
inline constexpr std::string_view kLargest = "quantize.largest";
}  // namespace narrow_kernel
constexpr std::string_view priced_kernel(std::string_view timed) {
  return timed.substr(0, timed.find('.'));
}

}  // namespace meshwright::calibrate
