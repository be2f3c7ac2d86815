// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/traits.h"

namespace meshwright {

// Each stands in the file of its name.
extern const ScheduleTraits gpipe_traits, one_f_one_b_traits, interleaved_traits, zb_h1_traits,
    zb_h2_traits, zb_v_traits, dualpipe_traits, dualpipe_v_traits;

constinit const std::array<const ScheduleTraits*, kPipelineScheduleNames.size()> pipeline_schedules{
    &gpipe_traits, &one_f_one_b_traits, &interleaved_traits, &zb_h1_traits,
    &zb_h2_traits, &zb_v_traits,        &dualpipe_traits,    &dualpipe_v_traits};

}  // namespace meshwright
