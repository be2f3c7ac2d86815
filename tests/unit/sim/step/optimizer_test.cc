// SPDX-License-Identifier: Apache-2.0
#include "sim/step/optimizer.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// Adam at 500 GB/s after a launch of 2 us; a host link of 25 GB/s.
Cluster cluster_with_adam() {
  Cluster c;
  c.device.kernel_launch = microseconds(2);
  c.device.host_link = gigabytes_per_second(25);
  c.device.kernels.push_back({"adam", gigabytes_per_second(500), 0.05, Provenance::measured});
  return c;
}

constexpr StageParameters kMillion{.dense = 1e6, .expert = 0};

// bf16 with gradients, master weights and two moments in fp32: reads 4 + 4 + 8, writes 4 + 8 and
// the copy of 2: 30 bytes; and 4 bytes to set the gradient to zero. 2 us + 34 MB / 500 GB/s = 70
// us.
TEST(OptimizerCost, IsAKernelOverEveryByteThatAStepTouches) {
  const Cost cost = optimizer_cost(kMillion, Job{}, Layout{}, cluster_with_adam());
  EXPECT_NEAR(cost.time.value(), 70e-6, 1e-12);
  EXPECT_EQ(cost.provenance, Provenance::measured);
}

// Remainders: reads gradient 4, remainder 2, weight 2 and moments 8, writes 2, 2 and 8: 28 bytes,
// and 4 for the gradient that is cleared. 2 us + 32 MB / 500 GB/s = 66 us.
TEST(OptimizerCost, RemaindersAreReadAndWrittenWithTheWeight) {
  Job job;
  job.store_param_remainders = true;
  const Cost cost = optimizer_cost(kMillion, job, Layout{}, cluster_with_adam());
  EXPECT_NEAR(cost.time.value(), 66e-6, 1e-12);
}

// A quarter of the step's 30 MB, all of the 4 MB of gradients: 2 us + 11.5 MB / 500 GB/s = 25 us.
TEST(OptimizerCost, ZeroSharesTheStepButNotTheGradientsThatAreCleared) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 1;
  EXPECT_NEAR(optimizer_cost(kMillion, Job{}, layout, cluster_with_adam()).time.value(), 25e-6,
              1e-12);
}

// 8 data ranks, 4 of them share the experts: each expert has 8 / 4 = 2 copies, which share its
// state. Half of 30 MB, and 4 MB to clear: 2 us + 19 MB / 500 GB/s = 40 us.
TEST(OptimizerCost, ExpertsAreSharedByTheRanksThatHoldTheSameOnes) {
  Layout layout;
  layout.data_parallel_size = 8;
  layout.expert_parallel_size = 4;
  layout.zero_stage = 1;
  const StageParameters experts{.dense = 0, .expert = 1e6};
  EXPECT_NEAR(optimizer_cost(experts, Job{}, layout, cluster_with_adam()).time.value(), 40e-6,
              1e-12);
}

// 92 bytes a parameter of FSDP's quarter, no gradients to clear: 2 us + 23 MB / 500 GB/s = 48 us.
TEST(OptimizerCost, TouchesWhatTheFrameworksKernelsTouch) {
  Layout layout;
  layout.data_parallel_size = 4;
  layout.zero_stage = 3;
  layout.fsdp_unit = FsdpUnit::block;
  Cluster eager = cluster_with_adam();
  eager.framework.data_parallel.optimizer_bytes = 92;
  EXPECT_NEAR(optimizer_cost(kMillion, Job{}, layout, eager).time.value(), 48e-6, 1e-12);
}

// The step's 30 MB over the host link, and 4 MB of gradients that the device sets to zero:
// 30 MB / 25 GB/s + 2 us + 4 MB / 500 GB/s = 1.21 ms, assumed. The host keeps no remainders.
TEST(OptimizerCost, OffloadedItGoesAtThePaceOfTheHostLink) {
  Layout layout;
  layout.optimizer_offload = true;
  for (const bool remainders : {false, true}) {
    Job job;
    job.store_param_remainders = remainders;
    const Cost cost = optimizer_cost(kMillion, job, layout, cluster_with_adam());
    EXPECT_NEAR(cost.time.value(), 1.21e-3, 1e-12);
    EXPECT_EQ(cost.provenance, Provenance::assumed);
  }
}

// torch's AdamW on cores: 80 bytes a parameter, a million of them, over the link of the cluster.
TEST(OptimizerCost, AnUnfusedOneOnTheHostMovesWhatItsFrameworkSays) {
  Layout layout;
  layout.optimizer_offload = true;
  Cluster cluster = cluster_with_adam();
  const Seconds fused = optimizer_cost(kMillion, Job{}, layout, cluster).time;
  cluster.framework.data_parallel.host_optimizer_bytes = 80.0;
  const Seconds unfused = optimizer_cost(kMillion, Job{}, layout, cluster).time;
  const double link = only_device(cluster).host_link.value();
  EXPECT_NEAR(unfused.value() - fused.value(), 1e6 * (80.0 - 30.0) / link, 1e-9);
}

}  // namespace
}  // namespace meshwright
