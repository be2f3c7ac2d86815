// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interop/logs/training_log.h"

namespace meshwright::interop {
namespace {

constexpr double kGib = 1073741824.0;

// Without devices to multiply by, 8,000 tokens are two sequences of 4,000. With 4 devices, 1,000
// tokens a second and device for 15.7 s (the median) are 62,800: 15.7 sequences.
TEST(OtherLines, MaxtextsTokensAreItsBatch) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += fmt::format(
        "completed step: {}, seconds: {:.3f}, TFLOP/s/device: 506.597, Tokens/s/device: 1000.000, "
        "total_weights: 8000, loss: 12.1\n",
        i, 15.5 + 0.1 * i);
  }
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "MaxText");
  EXPECT_DOUBLE_EQ(log.steps[0].tflops_per_gpu.value(), 506.597);
  const auto steps = measured_steps(log, {4000, 0, 0});
  EXPECT_NEAR(steps->median.value(), 15.75, 1e-9);  // of 15.6 to 15.9
  EXPECT_EQ(steps->global_batch_size, 2);
  EXPECT_EQ(measured_steps(log, {4096, 0, 0})->global_batch_size, 0);  // padding is not counted
  EXPECT_EQ(measured_steps(log, {4000, 0, 4})->global_batch_size, 16);
}

TEST(OtherLines, NanochatsStepsAreInMilliseconds) {
  const TrainingLog log = read_training_log(
      "step 00007/00900 (0.78%) | loss: 9.1 | lrm: 1.00 | dt: 250.50ms | tok/sec: 2,093,000 | mfu: "
      "40.1 | total time: 0.03m\n"
      "step 00007 | Validation bpb: 1.2\n");
  EXPECT_EQ(log.target, "nanochat");
  ASSERT_EQ(log.steps.size(), 1U);
  EXPECT_EQ(log.steps[0].iteration, 7);
  EXPECT_DOUBLE_EQ(log.steps[0].time->value(), 0.2505);
}

TEST(OtherLines, MaxtextSaysItsSizesFirst) {
  const TrainingLog log = read_training_log(
      "Num_devices: 64, shape (1, 1, 64, 1)\n"
      "Config param global_batch_size_to_load: 64\n"
      "Config param global_batch_size_to_train_on: 128\n"
      "Config param max_target_length: 8192\n"
      "number parameters: 405.853 billion\n"
      "completed step: 0, seconds: 36.350, TFLOP/s/device: 28.423, loss: 1.966\n");
  EXPECT_EQ(log.world_size, 64);
  EXPECT_EQ(log.seq_length, 8192);
  EXPECT_DOUBLE_EQ(log.parameters.value(), 405.853e9);
  EXPECT_EQ(log.steps.at(0).global_batch_size, 128);
}

TEST(OtherLines, OlmoCoresBlocks) {
  std::string text = "GPU capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory\n";
  for (int i = 1; i <= 4; ++i) {
    text += fmt::format(
        "2025-03-01 host:0 console_logger:85 INFO [step={}/1,000,epoch=1]\n"
        "    throughput/device/BPS=0.5000\n"
        "    throughput/device/BPS (actual avg)=0.2500\n"
        "    throughput/device/TPS=46,012\n"
        "    gpu_memory/GPU active mem (GiB)=61.2\n"
        "    gpu_memory/GPU active mem (%)=77.0\n"
        "    system/GPU reserved mem (GiB)=70.5\n",
        i);
  }
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "OLMo-core");
  ASSERT_EQ(log.steps.size(), 4U);
  EXPECT_NEAR(log.steps[0].time->value(), 2.0, 1e-12);
  EXPECT_DOUBLE_EQ(log.steps[0].tokens_per_second_per_gpu.value(), 46012.0);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 61.2 * kGib);
  EXPECT_DOUBLE_EQ(log.peak_reserved->value(), 70.5 * kGib);
  EXPECT_EQ(log.device, "NVIDIA H100 80GB HBM3");
}

TEST(OtherLines, OlmoCoresOlderNameOfMemory) {
  EXPECT_DOUBLE_EQ(
      read_training_log("    system/Peak GPU active memory (GiB)=61.2\n").peak_allocated->value(),
      61.2 * kGib);
}

// 4 sequences of 1,000 tokens on 2 devices at 500 a second each take 4 s.
TEST(OtherLines, OlmosBlocks) {
  const TrainingLog log = read_training_log(
      "INFO [step=10/739328,epoch=0]\n"
      "    train/CrossEntropyLoss=7.5\n"
      "    throughput/total_tokens=41,943,040\n"
      "    throughput/device/tokens_per_second=500.0\n"
      "INFO [step=11/739328,epoch=0]\n"
      "    throughput/device/tokens_per_second=500.0\n"
      "    throughput/device/batches_per_second=0.2000\n"
      "    System/Peak GPU Memory (MB)=42,123\n");
  EXPECT_EQ(log.target, "OLMo");
  ASSERT_EQ(log.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 42.123e9);
  EXPECT_NEAR(measured_steps(log, {1000, 4, 2})->median.value(), (4.0 + 5.0) / 2, 1e-12);
}

TEST(OtherLines, TorchtunesRate) {
  const TrainingLog log = read_training_log(
      "Step 3 | loss:1.5 lr:2e-05 tokens_per_second_per_gpu:500.0 peak_memory_active:20.5 "
      "peak_memory_alloc:20.25 peak_memory_reserved:24.5\n");
  EXPECT_EQ(log.target, "torchtune");
  EXPECT_EQ(log.steps.at(0).iteration, 3);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 20.25 * kGib);
  EXPECT_DOUBLE_EQ(log.peak_reserved->value(), 24.5 * kGib);
}

TEST(OtherLines, TorchtitanSaysItsBatchOnce) {
  const TrainingLog log = read_training_log(
      "Trainer is initialized with local batch size 2, global batch size 16, gradient accumulation "
      "steps 1, sequence length 8192, total steps 100 (warmup 20).\n"
      "step:  1  loss: 8.1  memory: 40.50GiB(50%)  tps: 250  tflops: 300.5\n");
  EXPECT_EQ(log.steps.at(0).global_batch_size, 16);
}

}  // namespace
}  // namespace meshwright::interop
