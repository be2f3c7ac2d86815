// SPDX-License-Identifier: Apache-2.0
// What the training software makes of the hardware: how it works, as far as costs and rules can
// tell, and a few scalars that sums of kernels do not hold. A file of configs/frameworks each;
// neutral by default, as software that nobody named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/layout/layout.h"

namespace meshwright {

// What a job and a layout are unless they say otherwise. Every command and the search begin here.
struct FrameworkDefaults {
  Job job;
  Layout layout;
  bool operator==(const FrameworkDefaults&) const = default;
};

// What the scalars were fitted on, and how they did on groups of runs that the fit had not seen.
struct FrameworkFit {
  std::vector<std::string> sets;         // of measured runs; empty: nothing was fitted
  std::vector<std::string> terms;        // scalars below
  std::optional<double> held_out_error;  // mean |predicted / measured - 1|, one group left out each
  bool operator==(const FrameworkFit&) const = default;
};

struct Framework {
  std::string name;                 // of its file: "megatron-core-2026"; empty: unknown software
  std::string title;                // "Megatron Core with Transformer Engine, 2026"
  std::string versions;             // "core 0.14 to 0.16"
  std::string source;               // of what is said here
  double gemm_time_factor = 1.0;    // of GEMMs and fused attention
  double kernel_time_factor = 1.0;  // of memory-bound kernels and the optimizer
  double collective_time_factor = 1.0;
  Seconds host_launch;           // host time a kernel, when larger than the device's own
  Seconds micro_batch_overhead;  // once a micro-batch and stage: schedule, data, bookkeeping
  Seconds step_overhead;         // once a step: gradient clipping, loss scaling, logging
  double relative_spread = 0.0;  // what remains after the fit, as one standard deviation of a step
  FrameworkDefaults defaults;
  FrameworkFit fit;
  bool operator==(const Framework&) const = default;
};

}  // namespace meshwright
