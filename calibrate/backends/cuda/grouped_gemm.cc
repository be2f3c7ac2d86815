// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/grouped_gemm.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <utility>

#include "calibrate/backends/cuda/check.h"
#include "calibrate/backends/cuda/device_memory.h"
#include "calibrate/backends/cuda/gemm_problem.h"
#include "calibrate/backends/cuda/stream.h"
#include "sim/base/error.h"

namespace meshwright::calibrate::cuda {
namespace {

// cuBLAS, opened at run time: everything else needs cuBLASLt alone.
struct CublasLibrary {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;
  decltype(&cublasGemmGroupedBatchedEx_64) multiply = nullptr;
  std::string why_missing;
};

template <typename Function>
bool load_cublas_function(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

CublasLibrary open_cublas() {
  CublasLibrary c;
  const std::string file = fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    c.why_missing = fmt::format("cuBLAS: {}", reason == nullptr ? file : reason);
  } else if (!load_cublas_function(library, c.create, "cublasCreate_v2") ||
             !load_cublas_function(library, c.destroy, "cublasDestroy_v2") ||
             !load_cublas_function(library, c.set_stream, "cublasSetStream_v2") ||
             !load_cublas_function(library, c.status_string, "cublasGetStatusString") ||
             !load_cublas_function(library, c.multiply, "cublasGemmGroupedBatchedEx_64")) {
    c.why_missing = fmt::format("cuBLAS: {} has no grouped products", file);
  }
  return c;
}
const CublasLibrary& cublas_library() {
  static const CublasLibrary library = open_cublas();
  return library;
}

void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string words =
      fmt::format("cuBLAS: {} (at {})", cublas_library().status_string(status), call);
  if (is_refusal(status)) throw UnsupportedCall(words);
  throw SystemError(words);
}

struct DestroyCublasHandle {
  void operator()(cublasHandle_t handle) const { cublas_library().destroy(handle); }
};
using CublasHandle = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, DestroyCublasHandle>;

CublasHandle make_cublas_handle() {
  cublasHandle_t made = nullptr;
  check_cublas(cublas_library().create(&made), "cublasCreate_v2");
  CublasHandle handle(made);
  check_cublas(cublas_library().set_stream(made, kStream), "cublasSetStream_v2");
  return handle;
}

// cublasGemmGroupedBatchedEx takes operands of 16 and 32 bits.
bool has_grouped_product(Precision precision) {
  return precision != Precision::fp8 && precision != Precision::fp4;
}

// Addresses of each group's operand: first operands, then second ones, then results.
std::vector<const char*> addresses_of_groups(const GroupedGemmCall& call,
                                             const GroupedProblem& problem) {
  const auto width = static_cast<std::int64_t>(bytes_per_element(call.precision));
  std::vector<const char*> all;
  const auto add = [&](const void* base, const std::vector<std::int64_t>& offsets) {
    for (const std::int64_t offset : offsets) {
      all.push_back(static_cast<const char*>(base) + offset * width);
    }
  };
  add(call.b, problem.first_offset);
  add(call.a, problem.second_offset);
  add(call.c, problem.result_offset);
  return all;
}

class CublasGroupedGemm final : public GroupedGemm {
 public:
  [[nodiscard]] std::string why_not(Precision precision) override {
    if (!cublas_library().why_missing.empty()) return cublas_library().why_missing;
    if (has_grouped_product(precision)) return "";
    return fmt::format("cuBLAS: grouped products take no {}", name_of(precision));
  }

  void run(const GroupedGemmCall& call) override {
    const std::string reason = why_not(call.precision);
    if (!reason.empty()) throw UnsupportedCall(reason);
    const GroupedProblem p(call);
    if (p.m.empty() || call.n == 0 || call.k == 0) return;
    if (!handle_) handle_ = make_cublas_handle();
    const std::size_t groups = p.m.size();
    void* const on_device = uploaded(addresses_of_groups(call, p));
    const auto* const pointers = static_cast<const void* const*>(on_device);
    auto* const results = static_cast<void* const*>(on_device) + 2 * groups;
    const std::vector<cublasOperation_t> first(groups,
                                               p.transpose_first ? CUBLAS_OP_T : CUBLAS_OP_N);
    const std::vector<cublasOperation_t> second(groups, CUBLAS_OP_N);
    const cudaDataType_t type = data_type(call.precision);
    check_cublas(cublas_library().multiply(handle_.get(), first.data(), second.data(), p.m.data(),
                                           p.n.data(), p.k.data(), p.alpha.data(), pointers, type,
                                           p.first_ld.data(), pointers + groups, type,
                                           p.second_ld.data(), p.beta.data(), results, type,
                                           p.result_ld.data(), static_cast<std::int64_t>(groups),
                                           p.sizes.data(), compute_type(call.precision)),
                 "cublasGemmGroupedBatchedEx_64");
  }

 private:
  // Operands come again, in turn: their pointers are on the device already.
  void* uploaded(std::vector<const char*> pointers) {
    constexpr std::size_t kMostArrays = 4096;
    const auto found = arrays_.find(pointers);
    if (found != arrays_.end()) return found->second.data();
    if (arrays_.size() == kMostArrays) {
      CUDA_CHECK(cudaStreamSynchronize(kStream));  // calls may still read them
      arrays_.clear();
    }
    const std::size_t size = pointers.size() * sizeof(void*);
    const auto made = arrays_.try_emplace(std::move(pointers), size).first;
    CUDA_CHECK(cudaMemcpyAsync(made->second.data(), made->first.data(), size,
                               cudaMemcpyHostToDevice, kStream));
    return made->second.data();
  }

  CublasHandle handle_;
  std::map<std::vector<const char*>, DeviceMemory> arrays_;
};

}  // namespace

std::unique_ptr<GroupedGemm> make_grouped_gemm() { return std::make_unique<CublasGroupedGemm>(); }

}  // namespace meshwright::calibrate::cuda
