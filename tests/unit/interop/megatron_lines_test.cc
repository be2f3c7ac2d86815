// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "interop/logs/training_log.h"

namespace meshwright::interop {
namespace {

// 51.2 samples a second for 10 s are 512.
TEST(MegatronLines, GptNeoxsRateSaysItsBatch) {
  const TrainingLog log = read_training_log(
      "  samples/sec: 51.200 | iteration       10/      50 | elapsed time per iteration (ms): "
      "10000.0 | learning rate: 1.234E-04 | approx flops per GPU: 150.3TFLOPS | lm_loss: 7.1E+00 "
      "|\n"
      "steps: 11 loss: 7.1 iter time (s): 9.000 samples/sec: 56.9\n");
  EXPECT_EQ(log.target, "GPT-NeoX");
  ASSERT_EQ(log.steps.size(), 1U);
  EXPECT_EQ(log.steps[0].iteration, 10);
  EXPECT_EQ(log.steps[0].global_batch_size, 512);
  EXPECT_DOUBLE_EQ(log.steps[0].tflops_per_gpu.value(), 150.3);
}

TEST(MegatronLines, GptNeoxsFlopsInAnotherUnitAreLeftOut) {
  const TrainingLog log = read_training_log(
      "samples/sec: 0.500 | iteration 3/50 | elapsed time per iteration (ms): 4000.0 | approx "
      "flops "
      "per GPU: 950.0GFLOPS |\n");
  EXPECT_EQ(log.steps.at(0).global_batch_size, 2);
  EXPECT_FALSE(log.steps[0].tflops_per_gpu);
}

// Behind the slash stands the mean of the last steps.
TEST(MegatronLines, RocmsForkPrintsTheStepAndAMean) {
  const TrainingLog log = read_training_log(
      "[20251202 09:12:08][rank-7/8][INFO ] [trainer.py:2560] : iteration      126/    5000 | "
      "consumed samples:        16128 | elapsed time per iteration (ms): 13372.8/13364.7 | hip mem "
      "usage/free/total/usage_ratio: 153.50GB/102.48GB/255.98GB/60.0% | throughput per GPU "
      "(TFLOP/s/GPU): 567.6/568.0 | tokens per GPU (tokens/s/GPU): 9801.4/9807.3 | global batch "
      "size:   128 | lm loss: 6.5E-03 |\n");
  EXPECT_EQ(log.target, "Megatron-LM");
  EXPECT_EQ(log.steps.at(0).iteration, 126);
  EXPECT_NEAR(log.steps[0].time->value(), 13.3728, 1e-9);
  EXPECT_EQ(log.steps[0].global_batch_size, 128);
  EXPECT_DOUBLE_EQ(log.steps[0].tflops_per_gpu.value(), 567.6);
  EXPECT_DOUBLE_EQ(log.peak_reserved->value(), 153.5 * 1073741824);
}

TEST(MegatronLines, TheBatchFollowsFromConsumedSamples) {
  const TrainingLog log = read_training_log(
      "iteration 10/ 100 | consumed samples: 5120 | elapsed time per iteration (ms): 900.0 |\n"
      "iteration 20/ 100 | consumed samples: 10240 | elapsed time per iteration (ms): 900.0 |\n");
  EXPECT_EQ(measured_steps(log, {})->global_batch_size, 512);
}

// Megatron-DeepSpeed prints DeepSpeed's lines between its own.
TEST(MegatronLines, MegatronGoesBeforeDeepspeed) {
  const TrainingLog log = read_training_log(
      "epoch=0/micro_step=8/global_step=1, RunningAvgSamplesPerSec=9.0, CurrSamplesPerSec=16.0\n"
      "epoch=0/micro_step=8/global_step=2, RunningAvgSamplesPerSec=9.0, CurrSamplesPerSec=16.0\n"
      "iteration 2/ 100 | elapsed time per iteration (ms): 900.0 | global batch size: 64 |\n");
  EXPECT_EQ(log.target, "Megatron-LM");
}

}  // namespace
}  // namespace meshwright::interop
