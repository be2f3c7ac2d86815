// SPDX-License-Identifier: Apache-2.0
// The physical model of a GEMM, without measured points: waves of tiles against memory traffic
// (NVIDIA Matrix Multiplication Background, 2.3, 3.1, 3.2). GemmModel says the formula.
#pragma once

#include "sim/base/units.h"
#include "sim/hardware/device.h"
#include "sim/kernel_time/compute.h"

namespace meshwright {

// Time of one GEMM by the model's few numbers alone. Never falls when m, n, k or batch grow.
Seconds gemm_model_time(GemmShape shape, const GemmModel& model, const Device& device);

// Bytes that a GEMM reads and writes, each operand once.
Bytes gemm_traffic(const GemmShape& shape, Precision precision);

// The model for a number format. fp16 and bf16 stand for each other (the same units and rates);
// otherwise the device's first model. An own copy would allocate, so no rate is scaled.
// The most FLOPs a second that the device is said to reach in a step of this precision: of a large
// GEMM or the fastest measured one, or of fused attention in 16 bits.
FlopsPerSecond fastest_rate(const Device& device, Precision precision);

const GemmModel& gemm_model_for(const Device& device, Precision precision);

}  // namespace meshwright
