// SPDX-License-Identifier: Apache-2.0
// The pipeline schedules by name. The file of its name defines each as ScheduleTraits.
#pragma once

#include <array>
#include <cstdint>

#include "sim/base/enum_names.h"

namespace meshwright {

enum class PipelineSchedule {
  gpipe,
  one_f_one_b,
  interleaved,
  zb_h1,
  zb_h2,
  zb_v,
  dualpipe,
  dualpipe_v
};
inline constexpr std::array kPipelineScheduleNames{
    EnumName{PipelineSchedule::gpipe, "gpipe"},
    EnumName{PipelineSchedule::one_f_one_b, "1f1b"},
    EnumName{PipelineSchedule::interleaved, "interleaved"},
    EnumName{PipelineSchedule::zb_h1, "zb_h1"},
    EnumName{PipelineSchedule::zb_h2, "zb_h2"},
    EnumName{PipelineSchedule::zb_v, "zb_v"},
    EnumName{PipelineSchedule::dualpipe, "dualpipe"},
    EnumName{PipelineSchedule::dualpipe_v, "dualpipe_v"}};
constexpr std::string_view name_of(PipelineSchedule v) {
  return name_in(kPipelineScheduleNames, v);
}

inline constexpr PipelineSchedule kDefaultSchedule = PipelineSchedule::one_f_one_b;
// In Megatron-LM several chunks per stage mean the interleaved schedule unless another is named.
constexpr PipelineSchedule implied_schedule(int chunks) {
  return chunks > 1 ? PipelineSchedule::interleaved : kDefaultSchedule;
}

}  // namespace meshwright
