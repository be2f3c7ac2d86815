// SPDX-License-Identifier: Apache-2.0
// Which number formats a device has, and which recipes of fp8 and fp4 a device and a model can have
// (Transformer Engine docs/features/low_precision_training).
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/narrow_format.h"
#include "sim/hardware/device.h"
#include "sim/rules/rule_row.h"

namespace meshwright {

// Formats of the job's products, and fp8 where tokens travel to experts in it.
constexpr unsigned formats_asked(const Job& job) {
  unsigned formats = format_bit(job.precision);
  for (const Precision sent : {job.moe_dispatch_fwd_dtype, job.moe_combine_bwd_dtype}) {
    if (is_narrow(sent)) formats |= format_bit(sent);
  }
  return formats;
}

// "fp16, tf32 and fp32"
inline std::string format_names(unsigned formats) {
  std::vector<std::string_view> names;
  for (const auto& [format, name] : kPrecisionNames) {
    if ((formats & format_bit(format)) != 0) names.push_back(name);
  }
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

inline constexpr RuleRow kFormatRules[]{
    {.name = "devices_have_the_number_format",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const unsigned lacking = formats_asked(in.job) & ~in.devices.formats;
       return lacking != 0 ? CheckResult{missed(1, 0)} : std::nullopt;
     },
     .requirement = "The devices must multiply in the job's precision.",
     .reason = "Matrix units have the formats of the device's `gemm` list: V100 has no bf16 and no "
               "tf32, A100 no fp8, H100 no fp4.",
     .remedy = "Use --precision with a format of the device. Add the format to the device's `gemm` "
               "list if it is missing there.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("the devices have no {}; they have {}",
                              format_names(formats_asked(in.job) & ~in.devices.formats),
                              format_names(in.devices.formats));
         }},
};

inline constexpr RuleRow kNarrowRules[]{
    {.name = "block_scaling_needs_devices_that_have_it",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const bool mxfp8 =
           in.job.precision == Precision::fp8 && in.job.fp8_recipe == Fp8Recipe::mxfp8;
       const bool asked = mxfp8 || in.job.precision == Precision::fp4;
       return asked && !in.devices.block_scaling ? CheckResult{missed(1, 0)} : std::nullopt;
     },
     .requirement =
         "fp8_recipe mxfp8 and precision fp4 need devices that scale blocks (Blackwell).",
     .reason = "Tensor cores before SM 10.0 have no products of scaled blocks (Transformer Engine, "
               "mxfp8.rst and nvfp4.rst: SM 10.0 and 10.3).",
     .remedy = "Use fp8_recipe delayed, tensorwise or blockwise.",
     .sentence =
         [](const RuleInput& in, const Missed&) {
           return fmt::format("the devices have no scaled blocks, which {} needs",
                              in.job.precision == Precision::fp4 ? "fp4" : "mxfp8");
         }},
    {.name = "blocks_divide_widths",
     .part = RulePart::sizes,
     .check = [](const RuleInput& in) -> CheckResult {
       const int block = scaled_block(in.job);
       const int tensor = in.layout.tensor_parallel_size;
       if (const CheckResult hidden = must_divide(in.model.hidden_size, block)) return hidden;
       if (in.model.moe) {
         return must_divide(in.model.moe->moe_ffn_hidden_size / expert_tensor_size(in.layout),
                            block);
       }
       return must_divide(in.model.ffn_hidden_size / tensor, block);
     },
     .requirement = "With scaled blocks the width of every linear of a layer must be a multiple of "
                    "the block: 128 blockwise, 32 mxfp8, 16 fp4.",
     .reason = "Scales belong to that many numbers of a row (Transformer Engine, "
               "fp8_blockwise_scaling.rst, mxfp8.rst, nvfp4.rst).",
     .remedy = "Use fp8_recipe tensorwise, or a smaller tensor size.",
     .sentence =
         [](const RuleInput&, const Missed& m) {
           return fmt::format("a width of {} is not divisible by blocks of {}", whole(m.available),
                              whole(m.needed));
         }},
};

}  // namespace meshwright
