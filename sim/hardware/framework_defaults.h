// SPDX-License-Identifier: Apache-2.0
// What a job and a layout are unless they say otherwise: as the cluster's framework works. Every
// command and the search begin here.
#pragma once

#include "sim/base/job.h"
#include "sim/hardware/framework.h"
#include "sim/layout/layout.h"

namespace meshwright {

struct FrameworkDefaults {
  Job job;
  Layout layout;
};
inline FrameworkDefaults framework_defaults(const Framework& framework) {
  FrameworkDefaults defaults;
  defaults.job.kernel_fusion = framework.kernel_fusion;
  defaults.layout.pipeline_engine = framework.pipeline_engine;
  return defaults;
}

}  // namespace meshwright
