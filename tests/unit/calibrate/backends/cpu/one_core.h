// SPDX-License-Identifier: Apache-2.0
// One core, whose kernels a test runs.
#pragma once

#include "calibrate/backends/cpu/compute_cpu.h"

namespace meshwright::calibrate::cpu {

inline Compute& one_core() {
  static const std::unique_ptr<Compute> compute = make_compute();
  return *compute;
}

}  // namespace meshwright::calibrate::cpu
