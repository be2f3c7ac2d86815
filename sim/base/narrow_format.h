// SPDX-License-Identifier: Apache-2.0
// Casts and copies of a linear's operands in a recipe of fp8 or fp4 (TransformerEngine d0067d0d,
// docs/features/low_precision_training; what a norm does: csrc/extensions/normalization.cpp).
//
// A cast reads the 16-bit source, twice where the largest number of the whole tensor is sought
// first, and writes the operand by rows and by columns: two tensors where scales belong to blocks,
// or where products take rows alone (Hopper), else one. A norm in the same module may write the
// operand itself, or find the largest number.
#pragma once

#include "sim/base/numerics.h"

namespace meshwright {

struct NarrowFormat {
  double number = 1.0;            // bytes
  double scale = 0.0;             // bytes of scales, a number
  double reads = 1.0;             // number of times that a cast reads its source
  double reads_after_norm = 1.0;  // the same for a cast that follows a norm
  bool norm_casts = false;        // the norm writes the operand: nothing is left to cast
  bool two_copies = true;         // on every device
  double gemm_time_factor = 1.0;  // over per-tensor fp8 products, fp4 over its own
};

inline constexpr std::array kNarrowFormats{
    // delayed: one fp32 scale, from the largest numbers of earlier steps
    NarrowFormat{.norm_casts = true, .two_copies = false},
    // tensorwise: from its own largest number
    NarrowFormat{.reads = 2.0, .two_copies = false},
    // blockwise: fp32 for 1 x 128 numbers
    NarrowFormat{.scale = 4.0 / 128},
    // mxfp8: a byte for 1 x 32. Products alone take 7.324 ms where the same library's other fp8
    // ones take 6.830 (gemm_profiling.rst, a layer on B300).
    NarrowFormat{.scale = 1.0 / 32, .gemm_time_factor = 1.07},
};
// nvfp4: half a byte, a byte of scale for 1 x 16, and one fp32 for all.
inline constexpr NarrowFormat kNvfp4{.number = 0.5, .scale = 1.0 / 16, .reads = 2.0};

// For numerics in fp8 or fp4.
constexpr const NarrowFormat& narrow_format(const Numerics& numerics) {
  if (numerics.precision == Precision::fp4) return kNvfp4;
  return kNarrowFormats[static_cast<std::size_t>(numerics.fp8_recipe.value_or(Fp8Recipe::delayed))];
}
constexpr double narrow_bytes(const NarrowFormat& format) { return format.number + format.scale; }
// Numbers of a row that share a scale; 1: the tensor has one.
constexpr int scaled_block(const Numerics& numerics) {
  if (numerics.precision == Precision::fp4) return 16;
  if (numerics.precision != Precision::fp8 || !numerics.fp8_recipe) return 1;
  return *numerics.fp8_recipe == Fp8Recipe::blockwise ? 128
         : *numerics.fp8_recipe == Fp8Recipe::mxfp8   ? 32
                                                      : 1;
}
// Tensors that an operand by rows and by columns takes.
constexpr double operand_copies(const Numerics& numerics) {
  return narrow_format(numerics).two_copies || !numerics.operands_in_any_layout ? 2.0 : 1.0;
}

// The same of a weight: one where it is transposed each time.
constexpr double weight_copies(const Numerics& numerics) {
  const bool transposes = numerics.disable_parameter_transpose_cache &&
                          numerics.precision == Precision::fp8 &&
                          !narrow_format(numerics).two_copies;
  return transposes ? 1.0 : operand_copies(numerics);
}

// Bytes of one element of a linear's input as it is kept for the weight gradient: Transformer
// Engine keeps the operand by columns alone.
constexpr double operand_bytes(const Numerics& numerics) {
  return is_narrow(numerics.precision) ? narrow_bytes(narrow_format(numerics))
                                       : bytes_per_element(numerics.precision);
}

}  // namespace meshwright
