// SPDX-License-Identifier: Apache-2.0
// How an inference engine stores weights and the key-value cache. Training's formats are those of
// numerics.h.
#pragma once

#include <array>
#include <string_view>

#include "sim/base/enum_names.h"
#include "sim/base/numerics.h"

namespace meshwright {

enum class WeightFormat {
  bf16,
  fp8,        // one fp32 scale for a tensor or for a row of it
  fp8_block,  // one fp32 scale for 128 x 128 weights (DeepSeek-V3)
  mxfp8,      // a byte of scale for 32 weights
  int4,       // groups of weights with a 16-bit scale, AWQ's and GPTQ's with a 4-bit zero point
  mxfp4,      // a byte of scale for 32 weights
  nvfp4,      // a byte of scale for 16 weights
};
inline constexpr std::array kWeightFormatNames{
    EnumName{WeightFormat::bf16, "bf16"},           EnumName{WeightFormat::fp8, "fp8"},
    EnumName{WeightFormat::fp8_block, "fp8_block"}, EnumName{WeightFormat::mxfp8, "mxfp8"},
    EnumName{WeightFormat::int4, "int4"},           EnumName{WeightFormat::mxfp4, "mxfp4"},
    EnumName{WeightFormat::nvfp4, "nvfp4"}};
constexpr std::string_view name_of(WeightFormat v) { return name_in(kWeightFormatNames, v); }

// The format in which products with such weights run. int4 and mxfp4 kernels (Marlin) widen the
// weights to 16 bits.
constexpr Precision product_precision(WeightFormat format) {
  switch (format) {
    case WeightFormat::fp8:
    case WeightFormat::fp8_block:
    case WeightFormat::mxfp8:
      return Precision::fp8;
    case WeightFormat::nvfp4:
      return Precision::fp4;
    case WeightFormat::bf16:
    case WeightFormat::int4:
    case WeightFormat::mxfp4:
      break;
  }
  return Precision::bf16;
}

enum class KvCacheFormat {
  bf16,
  fp8,
  fp8_ds_mla,  // 512 fp8 numbers, 16 bytes of scales, 64 rotary numbers in bf16 (FlashMLA)
  nvfp4,       // half a byte, and a byte of scale for 16 numbers
};
inline constexpr std::array kKvCacheFormatNames{
    EnumName{KvCacheFormat::bf16, "bf16"}, EnumName{KvCacheFormat::fp8, "fp8"},
    EnumName{KvCacheFormat::fp8_ds_mla, "fp8_ds_mla"}, EnumName{KvCacheFormat::nvfp4, "nvfp4"}};
constexpr std::string_view name_of(KvCacheFormat v) { return name_in(kKvCacheFormatNames, v); }

// How the experts of a layer lie over ranks.
enum class ExpertSharding {
  none,             // all on each rank
  expert_parallel,  // whole, some on each rank
  tensor_parallel,  // each cut over several ranks
};
inline constexpr std::array kExpertShardingNames{
    EnumName{ExpertSharding::none, "none"},
    EnumName{ExpertSharding::expert_parallel, "expert_parallel"},
    EnumName{ExpertSharding::tensor_parallel, "tensor_parallel"}};
constexpr std::string_view name_of(ExpertSharding v) { return name_in(kExpertShardingNames, v); }

// Bytes of one number of a key or value. fp8_ds_mla has a layout of its own (kv_cache.h).
constexpr double kv_number_bytes(KvCacheFormat format) {
  switch (format) {
    case KvCacheFormat::bf16:
      return 2.0;
    case KvCacheFormat::fp8:
    case KvCacheFormat::fp8_ds_mla:
      return 1.0;
    case KvCacheFormat::nvfp4:
      break;
  }
  return 0.5 + 1.0 / 16;
}

}  // namespace meshwright
