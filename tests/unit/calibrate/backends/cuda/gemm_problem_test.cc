// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cuda/gemm_problem.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate::cuda {
namespace {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

template <typename Value>
Value attribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t what) {
  Value value{};
  std::size_t written = 0;
  EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(layout, what, &value, sizeof value, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof value);
  return value;
}

cublasOperation_t operation(const GemmProblem& p, cublasLtMatmulDescAttributes_t what) {
  cublasOperation_t value{};
  std::size_t written = 0;
  cublasLtMatmulDescGetAttribute(p.operation.get(), what, &value, sizeof value, &written);
  return value;
}

TEST(GemmProblem, AlignmentIsTheLargestPowerOfTwoUpTo256) {
  EXPECT_EQ(alignment_of(at(0x10004)), 4U);
  EXPECT_EQ(alignment_of(at(0x10010)), 16U);
  EXPECT_EQ(alignment_of(at(0x10100)), 256U);
  EXPECT_EQ(alignment_of(at(0x40000)), 256U);
}

// c (5 x 7) = a' b with a stored 3 x 5 and b stored 3 x 7, row-major. Column-major those are
// 5 x 3, 7 x 3 and 7 x 5, and c' = b' a: the first operand, our b, is taken as it lies (7 x 3), the
// second, our a (5 x 3), transposed to 3 x 5.
TEST(GemmProblem, RowMajorOperandsBecomeColumnMajorOnesInTheOtherOrder) {
  const GemmCall call{.m = 5, .n = 7, .k = 3, .transpose_a = true};
  const GemmProblem p(call);
  EXPECT_EQ(operation(p, CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_N);
  EXPECT_EQ(operation(p, CUBLASLT_MATMUL_DESC_TRANSB), CUBLAS_OP_T);
  EXPECT_EQ(attribute<std::uint64_t>(p.first.get(), CUBLASLT_MATRIX_LAYOUT_ROWS), 7U);
  EXPECT_EQ(attribute<std::uint64_t>(p.first.get(), CUBLASLT_MATRIX_LAYOUT_COLS), 3U);
  EXPECT_EQ(attribute<std::int64_t>(p.first.get(), CUBLASLT_MATRIX_LAYOUT_LD), 7);
  EXPECT_EQ(attribute<std::uint64_t>(p.second.get(), CUBLASLT_MATRIX_LAYOUT_ROWS), 5U);
  EXPECT_EQ(attribute<std::uint64_t>(p.second.get(), CUBLASLT_MATRIX_LAYOUT_COLS), 3U);
  EXPECT_EQ(attribute<std::uint64_t>(p.result.get(), CUBLASLT_MATRIX_LAYOUT_ROWS), 7U);
  EXPECT_EQ(attribute<std::uint64_t>(p.result.get(), CUBLASLT_MATRIX_LAYOUT_COLS), 5U);
}

TEST(GemmProblem, BatchesHaveTheCallsStrides) {
  const GemmCall call{
      .batch = 4, .m = 2, .n = 3, .k = 5, .stride_a = 100, .stride_b = 200, .stride_c = 300};
  const GemmProblem p(call);
  EXPECT_EQ(attribute<std::int32_t>(p.first.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), 4);
  const auto kStride = CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
  EXPECT_EQ(attribute<std::int64_t>(p.first.get(), kStride), 200);
  EXPECT_EQ(attribute<std::int64_t>(p.second.get(), kStride), 100);
  EXPECT_EQ(attribute<std::int64_t>(p.result.get(), kStride), 300);
}

TEST(GemmProblem, ResultsOfSixteenBitsAreAskedFor) {
  const GemmCall fp8{.m = 16,
                     .n = 32,
                     .k = 48,
                     .transpose_b = true,
                     .precision = Precision::fp8,
                     .result = Precision::bf16,
                     .fast_accumulation = true};
  const GemmProblem p(fp8);
  EXPECT_EQ(attribute<std::uint32_t>(p.first.get(), CUBLASLT_MATRIX_LAYOUT_TYPE), CUDA_R_8F_E4M3);
  EXPECT_EQ(attribute<std::uint32_t>(p.result.get(), CUBLASLT_MATRIX_LAYOUT_TYPE), CUDA_R_16BF);
  // The units' one order: both operands have k as their fastest index.
  EXPECT_EQ(operation(p, CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
  EXPECT_EQ(operation(p, CUBLASLT_MATMUL_DESC_TRANSB), CUBLAS_OP_N);
}

// tf32 is a way to multiply numbers of 32 bits, not a type of its own.
TEST(GemmProblem, EachFormatHasItsTypeAndItsSum) {
  EXPECT_EQ(data_type(Precision::fp32), CUDA_R_32F);
  EXPECT_EQ(data_type(Precision::tf32), CUDA_R_32F);
  EXPECT_EQ(data_type(Precision::fp16), CUDA_R_16F);
  EXPECT_EQ(data_type(Precision::bf16), CUDA_R_16BF);
  EXPECT_EQ(data_type(Precision::fp8), CUDA_R_8F_E4M3);
  EXPECT_EQ(compute_type(Precision::fp32), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(compute_type(Precision::tf32), CUBLAS_COMPUTE_32F_FAST_TF32);
}

TEST(GemmProblem, FastAccumulationIsAskedForWhereItIsWanted) {
  GemmCall call{.m = 16, .n = 16, .k = 16, .precision = Precision::fp8};
  const auto is_fast = [&] {
    const GemmProblem p(call);
    std::int8_t value = -1;
    std::size_t written = 0;
    EXPECT_EQ(cublasLtMatmulDescGetAttribute(p.operation.get(), CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                                             &value, sizeof value, &written),
              CUBLAS_STATUS_SUCCESS);
    return value;
  };
  EXPECT_EQ(is_fast(), 0);
  call.fast_accumulation = true;
  EXPECT_EQ(is_fast(), 1);
}

// A change that does not affect the best algorithm does not start another search.
TEST(GemmProblem, TheKeyIgnoresWhereOperandsLieAndAlphaButNotAlignmentOrAccumulation) {
  GemmCall call{.m = 8, .n = 8, .k = 8, .a = at(0x10000), .b = at(0x20000)};
  const GemmKey key = key_of(call);
  call.a = at(0x30000);
  call.alpha = 2.0F;
  EXPECT_EQ(key_of(call), key);
  call.a = at(0x30004);
  EXPECT_NE(key_of(call), key);
  call.a = at(0x30000);
  call.beta = 1.0F;
  EXPECT_NE(key_of(call), key);
  call.beta = 0.0F;
  call.result = Precision::bf16;
  EXPECT_NE(key_of(call), key);
  call.result = Precision::fp32;
  call.fast_accumulation = true;
  EXPECT_NE(key_of(call), key);
  call.fast_accumulation = false;
  call.fastest_algorithm = true;
  EXPECT_NE(key_of(call), key);
}

// A call that did nothing costs its point; after an execution that failed no device goes on.
TEST(GemmProblem, ARefusalIsToldFromAFailure) {
  EXPECT_TRUE(is_refusal(CUBLAS_STATUS_NOT_SUPPORTED));
  EXPECT_TRUE(is_refusal(CUBLAS_STATUS_INVALID_VALUE));
  EXPECT_TRUE(is_refusal(CUBLAS_STATUS_ARCH_MISMATCH));
  EXPECT_FALSE(is_refusal(CUBLAS_STATUS_SUCCESS));
  EXPECT_FALSE(is_refusal(CUBLAS_STATUS_EXECUTION_FAILED));
  EXPECT_FALSE(is_refusal(CUBLAS_STATUS_ALLOC_FAILED));
}

}  // namespace
}  // namespace meshwright::calibrate::cuda
