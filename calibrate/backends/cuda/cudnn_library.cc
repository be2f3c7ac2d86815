// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/cudnn_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "calibrate/backends/compute.h"

namespace meshwright::calibrate::cuda {
namespace {

// Masks by minus infinity, and zeroes the sums of dq by itself.
constexpr std::size_t kOldestVersion = 91000;

template <typename Function>
bool load_cudnn_function(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool load_cudnn(void* library, CudnnLibrary& c) {
  return load_cudnn_function(library, c.version, "cudnnGetVersion") &&
         load_cudnn_function(library, c.error_string, "cudnnGetErrorString") &&
         load_cudnn_function(library, c.last_error, "cudnnGetLastErrorString") &&
         load_cudnn_function(library, c.create, "cudnnCreate") &&
         load_cudnn_function(library, c.destroy, "cudnnDestroy") &&
         load_cudnn_function(library, c.set_stream, "cudnnSetStream") &&
         load_cudnn_function(library, c.create_descriptor, "cudnnBackendCreateDescriptor") &&
         load_cudnn_function(library, c.destroy_descriptor, "cudnnBackendDestroyDescriptor") &&
         load_cudnn_function(library, c.set_attribute, "cudnnBackendSetAttribute") &&
         load_cudnn_function(library, c.get_attribute, "cudnnBackendGetAttribute") &&
         load_cudnn_function(library, c.finalize, "cudnnBackendFinalize") &&
         load_cudnn_function(library, c.execute, "cudnnBackendExecute");
}

CudnnLibrary open_cudnn() {
  CudnnLibrary library;
  const std::string file = fmt::format("libcudnn.so.{}", CUDNN_MAJOR);
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    library.why_missing = fmt::format("cuDNN: {}", reason == nullptr ? file : reason);
  } else if (!load_cudnn(handle, library)) {
    library.why_missing = fmt::format("cuDNN: {} lacks a function of the graph API", file);
  } else if (library.version() < kOldestVersion) {
    library.why_missing =
        fmt::format("cuDNN: version {} is older than {}", library.version(), kOldestVersion);
  }
  return library;
}

}  // namespace

const CudnnLibrary& cudnn_library() {
  static const CudnnLibrary library = open_cudnn();
  return library;
}

void check_cudnn(cudnnStatus_t status, std::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const CudnnLibrary& library = cudnn_library();
  std::array<char, 1024> text{};
  library.last_error(text.data(), text.size());
  throw UnsupportedCall(
      fmt::format("cuDNN: {} (at {}) {}", library.error_string(status), call, text.data()));
}

}  // namespace meshwright::calibrate::cuda
