// SPDX-License-Identifier: Apache-2.0
// cuDNN's graph API, opened at run time: a machine without cuDNN loses fused attention alone. The
// prototypes are the header's.
#pragma once

#include <cudnn_graph.h>

#include <string>
#include <string_view>

namespace meshwright::calibrate::cuda {

struct CudnnLibrary {
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
  std::string why_missing;  // empty: all of the above are there
};

// Opened once and kept.
const CudnnLibrary& cudnn_library();

// A failed call becomes an UnsupportedCall with cuDNN's own text. What went wrong on the device
// itself the next call of CUDA says.
void check_cudnn(cudnnStatus_t status, std::string_view call);

}  // namespace meshwright::calibrate::cuda
