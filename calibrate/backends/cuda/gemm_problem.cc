// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/gemm_problem.h"

#include <cstdint>

#include "calibrate/backends/cuda/cublas_check.h"

namespace meshwright::calibrate::cuda {
namespace {

CublasObject<cublasLtMatmulDesc_t> make_operation(const GemmCall& call) {
  cublasLtMatmulDesc_t made = nullptr;
  CUBLAS_CHECK(cublasLtMatmulDescCreate(&made, compute_type(call.precision), CUDA_R_32F));
  CublasObject<cublasLtMatmulDesc_t> operation(made);
  const cublasOperation_t first = call.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = call.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  CUBLAS_CHECK(
      cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
  CUBLAS_CHECK(
      cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
  if (call.fast_accumulation) {
    const std::int8_t fast = 1;
    CUBLAS_CHECK(
        cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
  }
  return operation;
}

// A matrix that is stored row-major, rows x cols: column-major it is cols x rows, without gaps.
CublasObject<cublasLtMatrixLayout_t> make_layout(cudaDataType_t type, std::int64_t rows,
                                                 std::int64_t cols, std::int64_t batch,
                                                 std::int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(cols),
                                          static_cast<std::uint64_t>(rows), cols));
  CublasObject<cublasLtMatrixLayout_t> layout(made);
  if (batch == 1) return layout;
  const auto count = static_cast<std::int32_t>(batch);
  CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                sizeof count));
  CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &stride, sizeof stride));
  return layout;
}

CublasObject<cublasLtMatrixLayout_t> operand_layout(const GemmCall& call, std::int64_t rows,
                                                    std::int64_t cols, bool transposed,
                                                    std::int64_t stride) {
  return make_layout(data_type(call.precision), transposed ? cols : rows, transposed ? rows : cols,
                     call.batch, stride);
}

}  // namespace

cudaDataType_t data_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return CUDA_R_32F;
    case Precision::fp16:
      return CUDA_R_16F;
    case Precision::bf16:
      return CUDA_R_16BF;
    case Precision::fp8:
      return CUDA_R_8F_E4M3;
    case Precision::fp4:
      break;  // not measured
  }
  return CUDA_R_32F;
}

cublasComputeType_t compute_type(Precision precision) {
  return precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

unsigned alignment_of(const void* pointer) {
  constexpr std::uintptr_t kMost = 256;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | kMost;
  return static_cast<unsigned>(address & (~address + 1));
}

GemmKey key_of(const GemmCall& c) {
  return {c.batch,
          c.m,
          c.n,
          c.k,
          c.transpose_a,
          c.transpose_b,
          c.precision,
          c.result,
          c.fast_accumulation,
          c.fastest_algorithm,
          c.beta != 0.0F,
          c.stride_a,
          c.stride_b,
          c.stride_c,
          alignment_of(c.a),
          alignment_of(c.b),
          alignment_of(c.c)};
}

bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE || status == CUBLAS_STATUS_NOT_SUPPORTED ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

GemmProblem::GemmProblem(const GemmCall& c)
    : operation(make_operation(c)),
      first(operand_layout(c, c.k, c.n, c.transpose_b, c.stride_b)),
      second(operand_layout(c, c.m, c.k, c.transpose_a, c.stride_a)),
      result(make_layout(data_type(c.result), c.m, c.n, c.batch, c.stride_c)) {}

}  // namespace meshwright::calibrate::cuda
