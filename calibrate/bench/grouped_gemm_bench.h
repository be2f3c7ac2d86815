// SPDX-License-Identifier: Apache-2.0
// The forward products of a layer's experts in one call (LibraryKernels): as many as the shape's
// batch, each of m rows, as balanced routing gives them.
#pragma once

#include <memory>

#include "calibrate/bench/bench.h"
#include "calibrate/measure/gemm_variant.h"

namespace meshwright::calibrate {

// Throws SystemError where the device has no such product.
std::unique_ptr<Bench> make_grouped_gemm_bench(Compute& compute, const GemmVariant& variant,
                                               Precision precision);

}  // namespace meshwright::calibrate
