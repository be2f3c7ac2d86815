// SPDX-License-Identifier: Apache-2.0
// The memory-bound kernels of a transformer step, forward and backward together, as one bench each.
//
// `traffic` is what sim/model counts for the same work (bytes read + written, fp32), so that
// kernel_cost with rate = traffic / time gives the measured time back.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "calibrate/bench/bench.h"
#include "calibrate/measure/kernel_sizes.h"

namespace meshwright::calibrate {

struct KernelCase {
  std::string_view kernel;  // of sim/operators/operators.h
  Bytes traffic;            // of one run
  int launches = 1;         // that the model charges for it
};

// Kernels that can be measured at these sizes.
std::vector<KernelCase> kernel_cases(const KernelSizes& sizes);
// Casts of a layer's activations to fp8 (narrow_kernel), for devices that have it. Traffic: bytes
// of 16-bit numbers read and of fp8 numbers read and written.
std::vector<KernelCase> narrow_kernel_cases(const KernelSizes& sizes);

std::unique_ptr<Bench> make_kernel_bench(Compute& compute, std::string_view kernel,
                                         const KernelSizes& sizes);

}  // namespace meshwright::calibrate
