// SPDX-License-Identifier: Apache-2.0
// How much of the devices a step uses.
#pragma once

#include "sim/base/units.h"

namespace meshwright {

// FLOPs that the model needs over what the devices could have done meanwhile (PaLM, arXiv
// 2204.02311, appendix B). 0 where no peak is known.
inline double model_flops_utilization(Flops step_flops, Seconds step_time, FlopsPerSecond peak,
                                      int gpus) {
  return peak.value() > 0 ? step_flops / (step_time * peak) / gpus : 0.0;
}

}  // namespace meshwright
