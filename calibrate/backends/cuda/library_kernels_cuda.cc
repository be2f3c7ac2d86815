// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/library_kernels_cuda.h"

#include "calibrate/backends/cuda/fused_attention.h"
#include "calibrate/backends/cuda/grouped_gemm.h"
#include "calibrate/backends/cuda/kernels/kernels.h"
#include "calibrate/backends/cuda/kernels/narrow_kernels.h"

namespace meshwright::calibrate::cuda {
namespace {

class CudaLibraryKernels final : public LibraryKernels {
 public:
  explicit CudaLibraryKernels(ComputeCapability capability) : capability_(capability) {}

  [[nodiscard]] std::string why_no_attention(const AttentionCall& call) override {
    return attention_->why_not(call);
  }
  void attention(const AttentionCall& call) override { attention_->run(call); }

  [[nodiscard]] std::string why_no_grouped_gemm(Precision precision) override {
    return grouped_gemm_->why_not(precision);
  }
  void grouped_gemm(const GroupedGemmCall& call) override { grouped_gemm_->run(call); }

  [[nodiscard]] bool casts_to_fp8() const override { return capability_.at_least(8, 9); }
  void find_largest(const void* from, float* largest, std::int64_t count) override {
    find_largest_bf16(from, largest, count);
  }
  void cast_to_fp8(const void* from, const float* scale, void* to, float* largest,
                   std::int64_t count) override {
    cast_bf16_to_fp8(from, scale, to, largest, count);
  }
  void cast_transpose_to_fp8(const void* from, const float* scale, void* to, void* transposed,
                             float* largest, std::int64_t rows, std::int64_t cols) override {
    cast_transpose_bf16_to_fp8(from, scale, to, transposed, largest, rows, cols);
  }
  void transpose_fp8(const void* from, void* to, std::int64_t rows, std::int64_t cols) override {
    transpose_bytes(from, to, rows, cols, 1, rows * cols);
  }

 private:
  ComputeCapability capability_;
  std::unique_ptr<FusedAttention> attention_ = make_fused_attention();
  std::unique_ptr<GroupedGemm> grouped_gemm_ = make_grouped_gemm();
};

}  // namespace

std::unique_ptr<LibraryKernels> make_library_kernels(ComputeCapability capability) {
  return std::make_unique<CudaLibraryKernels>(capability);
}

}  // namespace meshwright::calibrate::cuda
