// SPDX-License-Identifier: Apache-2.0
// What a training framework makes of the hardware: six physical scalars that a benchmark of single
// kernels does not see (clocks under sustained load, kernels between the counted ones, a host that
// launches from Python). Neutral by default; fitted from measured steps and then labelled so.
#pragma once

#include <string>

#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/layout/layout.h"

namespace meshwright {

struct Framework {
  std::string name;                 // "Megatron-LM, 2022"; empty: none, neutral
  std::string source;               // what was fitted on what
  double gemm_time_factor = 1.0;    // of GEMMs and fused attention
  double kernel_time_factor = 1.0;  // of memory-bound kernels and the optimizer
  double collective_time_factor = 1.0;
  Seconds host_launch;           // host time a kernel, when larger than the device's own
  Seconds micro_batch_overhead;  // once a micro-batch and stage: schedule, data, bookkeeping
  Seconds step_overhead;         // once a step: gradient clipping, loss scaling, logging
  // How it works; measured runs that say nothing else are read so.
  KernelFusion kernel_fusion = KernelFusion::fused;
  PipelineEngine pipeline_engine = PipelineEngine::megatron;
  double relative_spread = 0.0;  // what remains after the fit, as one standard deviation of a step
  bool operator==(const Framework&) const = default;
};

}  // namespace meshwright
