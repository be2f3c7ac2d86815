// SPDX-License-Identifier: Apache-2.0
#include "calibrate/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/unit/calibrate/two_layers.h"

namespace meshwright::calibrate {
namespace {

// One layout: 8 sequences in micro-batches of 2 are 4 calls of each product a layer. Two layouts
// that weigh the same, the other with 8 micro-batches: (4 + 8) / 2.
TEST(Workload, CallsAreTheMeanOverTheLayouts) {
  Job job;
  job.seq_length = 128;
  job.global_batch_size = 8;
  Layout two, one;
  two.micro_batch_size = 2;
  const Workload a = workload_of(two_layers(), job, {{two, {two}}});
  const Workload b = workload_of(two_layers(), job, {{two, {two}}, {one, {one}}});
  ASSERT_FALSE(a.gemms.empty());
  double sum_a = 0, sum_b = 0;
  for (const GemmDemand& gemm : a.gemms) sum_a += gemm.calls;
  for (const GemmDemand& gemm : b.gemms) sum_b += gemm.calls;
  EXPECT_DOUBLE_EQ(sum_b / sum_a, 6.0 / 4.0);
  EXPECT_TRUE(a.collectives.empty());
  EXPECT_EQ(a.kernels.size(), 1U);  // of one tensor size
}

// A layout's own attention: its micro-batch of 2 and the job's tokens. A dense model has no grouped
// products.
TEST(Workload, HasTheModelsAttentionAsOneKernel) {
  Job job;
  job.seq_length = 128;
  job.global_batch_size = 8;
  Layout two;
  two.micro_batch_size = 2;
  const Workload workload = workload_of(two_layers(), job, {{two, {two}}});
  ASSERT_EQ(workload.attentions.size(), 1U);
  EXPECT_EQ(workload.attentions[0].batch, 2);
  EXPECT_EQ(workload.attentions[0].positions, 128);
  EXPECT_EQ(workload.attentions[0].heads, two_layers().num_attention_heads);
  EXPECT_TRUE(workload.grouped_gemms.empty());
}

TEST(Workload, TheJobsNumberFormatComesFirst) {
  Job job;
  job.precision = Precision::bf16;
  EXPECT_EQ(workload_of(two_layers(), job, {}).precisions.front(), Precision::bf16);
}

// Products of scores and values are batches over 4 heads; those of weights are no batches.
TEST(Workload, AJobWithAFusedAttentionSpendsNothingOnProductsOfScoresOnAGpu) {
  Job job;
  job.seq_length = 128;
  job.global_batch_size = 8;
  job.attention_kernel = AttentionKernel::flash;
  const auto batched = [&](DeviceKind kind) {
    const Workload w =
        workload_of(two_layers(), as_calibrated(job, kind), {{Layout{}, {Layout{}}}});
    const auto of_heads = [](const GemmDemand& d) { return d.variant.shape.batch > 1; };
    const auto count = std::count_if(w.gemms.begin(), w.gemms.end(), of_heads);
    return std::pair(count > 0, w.kernel_names.contains("softmax"));
  };
  EXPECT_EQ(batched(DeviceKind::gpu), std::pair(false, false));
  EXPECT_EQ(batched(DeviceKind::cpu), std::pair(true, true));  // as trials run it
  job.attention_kernel = AttentionKernel::unfused;
  EXPECT_EQ(batched(DeviceKind::gpu), std::pair(true, true));
}

}  // namespace
}  // namespace meshwright::calibrate
