// SPDX-License-Identifier: Apache-2.0
// Fused attention, forward or backward, as a library of the device runs it (LibraryKernels).
#pragma once

#include <memory>

#include "calibrate/backends/library_kernels.h"
#include "calibrate/bench/bench.h"
#include "calibrate/measure/attention_shape.h"

namespace meshwright::calibrate {

// The shape as LibraryKernels wants it, without pointers; scores are scaled by 1 / sqrt(head_dim).
AttentionCall attention_call(const AttentionShape& shape, Precision precision);

// Bytes of all operands: forward q, k, v and o; backward also their gradients. The statistics of
// the rows and the sums that backward keeps in fp32 are included.
Bytes attention_memory(const AttentionShape& shape, Precision precision);

// Throws SystemError where the device has no such kernel.
std::unique_ptr<Bench> make_attention_bench(Compute& compute, const AttentionShape& shape,
                                            Precision precision);

}  // namespace meshwright::calibrate
