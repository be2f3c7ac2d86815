// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/traits.h"

namespace meshwright {

// Each stands in the file of its name.
extern const ScheduleTraits kGpipe, kOneFOneB, kInterleaved, kZbH1, kZbH2, kZbV, kDualPipe,
    kDualPipeV;

constinit const std::array<const ScheduleTraits*, kPipelineScheduleNames.size()> pipeline_schedules{
    &kGpipe, &kOneFOneB, &kInterleaved, &kZbH1, &kZbH2, &kZbV, &kDualPipe, &kDualPipeV};

}  // namespace meshwright
