// SPDX-License-Identifier: Apache-2.0
// LibraryKernels of one GPU: attention by cuDNN, grouped products by cuBLAS, casts by own kernels.
#pragma once

#include <memory>

#include "calibrate/backends/cuda/device.h"
#include "calibrate/backends/library_kernels.h"

namespace meshwright::calibrate::cuda {

std::unique_ptr<LibraryKernels> make_library_kernels(ComputeCapability capability);

}  // namespace meshwright::calibrate::cuda
