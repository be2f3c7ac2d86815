// SPDX-License-Identifier: Apache-2.0
// Fused attention, grouped products and casts to fp8 on a GPU, each against its bench's own
// double-precision reference. Right or wrong, never fast or slow.
#include "calibrate/backends/library_kernels.h"

#include "calibrate/bench/attention_bench.h"
#include "calibrate/bench/grouped_gemm_bench.h"
#include "calibrate/bench/kernel_bench.h"
#include "tests/device/both_devices.h"

namespace meshwright::calibrate {
namespace {

class GpuLibraryKernels : public OnBothDevices {
 protected:
  [[nodiscard]] LibraryKernels& kernels() const { return *gpu_->library_kernels(); }
};

TEST_F(GpuLibraryKernels, FusedAttentionIsRightInBothPasses) {
  int passes = 0;
  for (const bool causal : {true, false}) {
    for (const bool backward : {false, true}) {
      for (const std::int64_t groups : {2, 8}) {
        const AttentionShape shape{.batch = 2,
                                   .heads = 8,
                                   .query_groups = groups,
                                   .positions = 512,
                                   .head_dim = 128,
                                   .causal = causal,
                                   .backward = backward};
        const std::string reason =
            kernels().why_no_attention(attention_call(shape, Precision::bf16));
        if (!reason.empty()) GTEST_SKIP() << reason;
        EXPECT_EQ(make_attention_bench(*gpu_, shape, Precision::bf16)->check(), "")
            << "causal " << causal << ", backward " << backward << ", groups " << groups;
        ++passes;
      }
    }
  }
  EXPECT_EQ(passes, 8);
}

TEST_F(GpuLibraryKernels, GroupedProductsAreRight) {
  const std::string reason = kernels().why_no_grouped_gemm(Precision::bf16);
  if (!reason.empty()) GTEST_SKIP() << reason;
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    for (const bool transposed : {false, true}) {
      const GemmVariant variant{.shape = {5, 48, 64, 96}, .transpose_b = transposed};
      EXPECT_EQ(make_grouped_gemm_bench(*gpu_, variant, precision)->check(), "")
          << name_of(precision) << ", transposed " << transposed;
    }
  }
}

// Experts of 3, 0 and 2 tokens, 2 -> 1: sums of a row times its expert's weights.
TEST_F(GpuLibraryKernels, ExpertsMayHaveDifferentNumbersOfTokens) {
  const std::string reason = kernels().why_no_grouped_gemm(Precision::fp32);
  if (!reason.empty()) GTEST_SKIP() << reason;
  Arrays arrays(*gpu_);
  GroupedGemmCall call;
  call.rows = {3, 0, 2};
  call.n = 1;
  call.k = 2;
  call.precision = Precision::fp32;
  call.a = arrays.in(Floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  call.b = arrays.in(Floats{1, 10, 2, 20, 3, 30});
  call.c = arrays.out(Floats{0, 0, 0, 0, 0});
  kernels().grouped_gemm(call);
  EXPECT_EQ(arrays.results()[0], (Floats{21, 43, 65, 261, 327}));
}

TEST_F(GpuLibraryKernels, CastsToFp8AreRight) {
  if (!kernels().casts_to_fp8()) GTEST_SKIP() << "this GPU has no fp8";
  const KernelSizes sizes{.positions = 192, .batch = 1, .hidden = 320};
  for (const KernelCase& c : narrow_kernel_cases(sizes)) {
    EXPECT_EQ(make_kernel_bench(*gpu_, c.kernel, sizes)->check(), "") << c.kernel;
  }
}

}  // namespace
}  // namespace meshwright::calibrate
