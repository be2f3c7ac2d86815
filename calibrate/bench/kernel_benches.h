// SPDX-License-Identifier: Apache-2.0
// The kernels that kernel_bench.h lists, each on one set of arrays.
#pragma once

#include <cstdint>
#include <memory>

#include "calibrate/bench/kernel_arrays.h"

namespace meshwright::calibrate {

// Kernels of a transformer layer.
std::unique_ptr<KernelBench> layer_norm_bench(Compute& compute, const KernelSizes& sizes,
                                              FreshArrays& fresh);
std::unique_ptr<KernelBench> rms_norm_bench(Compute& compute, const KernelSizes& sizes,
                                            FreshArrays& fresh);
std::unique_ptr<KernelBench> rotary_bench(Compute& compute, const KernelSizes& sizes,
                                          FreshArrays& fresh);
std::unique_ptr<KernelBench> activation_bench(Compute& compute, const KernelSizes& sizes,
                                              FreshArrays& fresh);
std::unique_ptr<KernelBench> softmax_bench(Compute& compute, const KernelSizes& sizes,
                                           FreshArrays& fresh);
std::unique_ptr<KernelBench> add_bench(Compute& compute, const KernelSizes& sizes,
                                       FreshArrays& fresh);
std::unique_ptr<KernelBench> transpose_bench(Compute& compute, const KernelSizes& sizes,
                                             FreshArrays& fresh);

// Casts to fp8, where the device has fp8. Rows and columns are whole tiles
// (LibraryKernels::kFp8Tile) where a cast transposes.
std::unique_ptr<KernelBench> cast_bench(Compute& compute, const KernelSizes& sizes,
                                        FreshArrays& fresh);
std::unique_ptr<KernelBench> cast_transpose_bench(Compute& compute, const KernelSizes& sizes,
                                                  FreshArrays& fresh);
std::unique_ptr<KernelBench> narrow_transpose_bench(Compute& compute, const KernelSizes& sizes,
                                                    FreshArrays& fresh);
std::unique_ptr<KernelBench> largest_bench(Compute& compute, const KernelSizes& sizes,
                                           FreshArrays& fresh);

// Kernels of the vocabulary and of the optimizer.
std::unique_ptr<KernelBench> embedding_bench(Compute& compute, const KernelSizes& sizes,
                                             FreshArrays& fresh);
std::unique_ptr<KernelBench> cross_entropy_bench(Compute& compute, const KernelSizes& sizes,
                                                 FreshArrays& fresh);
std::unique_ptr<KernelBench> adam_bench(Compute& compute, const KernelSizes& sizes,
                                        FreshArrays& fresh);

// Number of parameters of one layer's MLP.
inline std::int64_t adam_parameters(const KernelSizes& s) { return 2 * s.hidden * s.ffn; }

}  // namespace meshwright::calibrate
