// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/training_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::interop {
namespace {

std::string megatron(int iteration, double ms, int batch = 256) {
  return fmt::format(
      "7: [2026-01-01 00:00:00] iteration {:8d}/    1000 | consumed samples: 1 | elapsed time per "
      "iteration (ms): {:.1f} | throughput per GPU (TFLOP/s/GPU): 400.5 | global batch size: {:5d} "
      "| lm loss: 1.0E+00 |\n",
      iteration, ms, batch);
}

TEST(TrainingLog, TheMedianIsOfStepsAfterTheWarmUp) {
  // Five steps: a tenth is none, one at least. Of 100 to 400 the median is 250, p10 130.
  std::string text = megatron(1, 9000);
  for (int i = 1; i <= 4; ++i) text += megatron(i + 1, 100.0 * i);
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "Megatron-LM");
  EXPECT_DOUBLE_EQ(*log.steps[0].tflops_per_gpu, 400.5);
  const auto steps = measured_steps(log, {});
  EXPECT_EQ(steps->warm_up, 1);
  EXPECT_EQ(steps->used, 4);
  EXPECT_NEAR(steps->median.value(), 0.250, 1e-12);
  EXPECT_NEAR(steps->p10.value(), 0.130, 1e-12);
  EXPECT_NEAR(steps->p90.value(), 0.370, 1e-12);
  EXPECT_EQ(steps->global_batch_size, 256);
}

TEST(TrainingLog, StepsOfAnotherBatchAreLeftOut) {
  std::string text;
  for (int i = 1; i <= 3; ++i) text += megatron(i, 50, 64);
  for (int i = 4; i <= 10; ++i) text += megatron(i, 200);
  const auto steps = measured_steps(read_training_log(text), {});
  EXPECT_EQ(steps->other_batch, 2);  // one of the three was warm-up
  EXPECT_NEAR(steps->median.value(), 0.2, 1e-12);
}

TEST(TrainingLog, EveryStartWarmsUpAndRanksCountOnce) {
  std::string text;
  for (int i = 1; i <= 6; ++i) text += megatron(i, 100) + megatron(i, 101);
  for (int i = 3; i <= 8; ++i) text += megatron(i, 100);
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.steps.size(), 12U);
  const auto steps = measured_steps(log, {});
  EXPECT_EQ(steps->restarts, 1);
  EXPECT_EQ(steps->warm_up, 2);
}

// 4 sequences of 1,000 tokens on 8 devices at 250 a second each take 2 s.
TEST(TrainingLog, RatesBecomeStepsByTheirSize) {
  std::string text;
  for (int i = 1; i <= 3; ++i) {
    text += fmt::format(
        "\x1b[31m[titan] step: {:2d}  \x1b[32mloss: 8.1  memory: 40.50GiB(50%)  tps: 250  tflops: "
        "1,300.5\n",
        i);
  }
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "torchtitan");
  EXPECT_DOUBLE_EQ(log.peak_reserved->value(), 40.5 * 1073741824);
  EXPECT_DOUBLE_EQ(*log.steps[0].tflops_per_gpu, 1300.5);
  EXPECT_NEAR(measured_steps(log, {1000, 4, 8})->median.value(), 2.0, 1e-12);
  EXPECT_FALSE(measured_steps(log, {}));
}

TEST(TrainingLog, DeepSpeedsSamplesASecond) {
  const TrainingLog log = read_training_log(
      "n1: [INFO] [timer.py:260:stop] epoch=0/micro_step=8/global_step=2, "
      "RunningAvgSamplesPerSec=9.0, "
      "CurrSamplesPerSec=16.0, MemAllocated=1.0GB, MaxMemAllocated=2.5GB\n"
      "n1: steps: 3 loss: 1.5 iter time (s): 4.250 samples/sec: 16.0\n");
  EXPECT_EQ(log.target, "DeepSpeed");
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 2.5 * 1073741824);
  const auto steps = measured_steps(log, {0, 64, 0});
  EXPECT_NEAR(steps->median.value(), (4.0 + 4.25) / 2, 1e-12);
}

TEST(TrainingLog, NanotronsShortNumbers) {
  const TrainingLog log = read_training_log(
      "[INFO|DP=0|PP=0|TP=0|ip]: iteration: 7 / 100 | consumed_tokens: 20.9M | "
      "elapsed_time_per_iteration_ms: 1.25K | tokens_per_sec: 870K | global_batch_size: 1.02K | "
      "lm_loss: 10.2 | model_tflops_per_gpu: 250 |\n Peak allocated 100.00MiB. Peak reserved: "
      "200.00MiB\n");
  EXPECT_EQ(log.target, "nanotron");
  EXPECT_NEAR(log.steps[0].time->value(), 1.25, 1e-12);
  EXPECT_EQ(log.steps[0].global_batch_size, 1020);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 100.0 * 1048576);
  EXPECT_DOUBLE_EQ(log.peak_reserved->value(), 200.0 * 1048576);
}

TEST(TrainingLog, ComposersBlocks) {
  const TrainingLog log = read_training_log(
      "[batch=12/100]:\n\t Train time/batch: 11\n\t Train memory/peak_allocated_mem: 3.5\n"
      "\t Train memory/peak_reserved_mem: 4.0\n\t Train throughput/device/tokens_per_sec: "
      "2,000.5\n");
  EXPECT_EQ(log.target, "llm-foundry");
  EXPECT_EQ(log.steps[0].iteration, 12);
  EXPECT_DOUBLE_EQ(*log.steps[0].tokens_per_second_per_gpu, 2000.5);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 3.5e9);
}

TEST(TrainingLog, TimersAreTheSlowestRanks) {
  const TrainingLog log =
      read_training_log(megatron(1, 100) +
                        "(min, max) time across ranks (ms):\n"
                        "    forward-backward ...............................: (80.00, 90.50)\n"
                        "    optimizer ......................................: (5.00, 6.00)\n" +
                        megatron(2, 100));
  EXPECT_NEAR(log.timers.at("forward-backward")[0].value(), 0.0905, 1e-12);
  EXPECT_NEAR(log.timers.at("optimizer")[0].value(), 0.006, 1e-12);
}

TEST(TrainingLog, MemoryVocabularyAndRanks) {
  const TrainingLog log = read_training_log(
      "using world size: 128, data-parallel size: 1\n"
      " > padded vocab (size: 50257) with 943 dummy tokens (new size: 51200)\n"
      "[Rank 0] (after 1 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.0 | reserved: "
      "3.0 | max reserved: 4.0\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n");
  EXPECT_EQ(*log.world_size, 128);
  EXPECT_EQ(*log.vocab_size, 50257);
  EXPECT_EQ(*log.padded_vocab_size, 51200);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 2.0 * 1048576);
  EXPECT_TRUE(log.out_of_memory);
  EXPECT_EQ(log.out_of_memory_line, 4);
  EXPECT_FALSE(measured_steps(log, {}));
}

TEST(TrainingLog, TorchtitanNamesModelAndDevice) {
  const TrainingLog log = read_training_log(
      "[rank0]:2025-03-06 20:59:00,000 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with "
      "95.00GiB memory\n"
      "[rank0]:CUDA capacity: another one with 1GiB memory\n"
      "[rank0]:\x1b[34mModel llama3 8B \x1b[31msize: 8,030,261,248 total parameters\x1b[39m\n"
      "[rank0]:Trainer is initialized with local batch size 2, global batch size 16, gradient "
      "accumulation steps 1, sequence length 8192, total steps 100 (warmup 20).\n");
  EXPECT_EQ(log.device, "NVIDIA H100 80GB HBM3");
  EXPECT_DOUBLE_EQ(log.parameters.value(), 8030261248.0);
  EXPECT_EQ(log.seq_length, 8192);
}

TEST(TrainingLog, MegatronsParametersAreOfTheModelAndOfRanks) {
  const TrainingLog log = read_training_log(
      " > number of parameters on (tensor, pipeline) model parallel rank (1, 0): 210753280\n"
      "3:  > number of parameters on (tensor, pipeline) model parallel rank (1, 2): 209445120\n"
      "Number of parameters in embedding layers in billions: 1.05\n"
      "Total number of parameters in billions: 8.03\n"
      "Total number of active parameters in billions: 2.00\n");
  EXPECT_DOUBLE_EQ(log.parameters.value(), 8.03e9);
  EXPECT_EQ(log.parameters_on_rank.size(), 2U);
  EXPECT_DOUBLE_EQ(log.parameters_on_rank.at({1, 2}), 209445120.0);
}

TEST(TrainingLog, OtherSoftwaresParameters) {
  EXPECT_DOUBLE_EQ(
      read_training_log("Total number of parameters: 1.34G (2564.21MiB)\n").parameters.value(),
      1.34e9);
  EXPECT_DOUBLE_EQ(
      read_training_log("Total number of parameters: 134M (256MiB)\n").parameters.value(), 134e6);
  EXPECT_DOUBLE_EQ(read_training_log("RANK=0 STAGE=0 LAYERS=12 [0, 12) STAGE_PARAMS=100 (0.000M) "
                                     "TOTAL_PARAMS=420 (0.000M) UNIQUE_PARAMS=400 (0.000M)\n")
                       .parameters.value(),
                   400.0);
  EXPECT_FALSE(read_training_log("Number of trainable parameters = 8,030\n").parameters);
}

// 8,388,608,000 tokens of 2,048,000 samples are 4,096 each.
TEST(TrainingLog, TheSequenceIsSaidInFourWays) {
  EXPECT_EQ(read_training_log("iteration 2000/ 744320 | consumed samples: 2048000 | consumed "
                              "tokens: 8388608000 | elapsed time per iteration (ms): 4862.0 |\n")
                .seq_length,
            4096);
  EXPECT_EQ(read_training_log("x | actual seq length: 2048 |\n").seq_length, 2048);
  EXPECT_EQ(read_training_log("x | actual seqlen:  1024 |\n").seq_length, 1024);
  EXPECT_EQ(
      read_training_log("0:   seq_length ...................................... 512\n").seq_length,
      512);
  EXPECT_FALSE(read_training_log("  encoder_seq_length .............................. 512\n"
                                 "  seq_length ...................................... None\n"
                                 " consumed samples: 3 | consumed tokens: 10 |\n")
                   .seq_length);
}

TEST(TrainingLog, DevicesOfOtherTools) {
  EXPECT_EQ(read_training_log("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n").device,
            "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(read_training_log("You are using a CUDA device ('NVIDIA A40') that has Tensor Cores.\n")
                .device,
            "NVIDIA A40");
  EXPECT_FALSE(read_training_log("CUDA capacity: unknown\n").device);
}

TEST(TrainingLog, OtherTextHasNoSteps) {
  EXPECT_TRUE(read_training_log("iteration of something\nstep: none tps: \n").steps.empty());
}

}  // namespace
}  // namespace meshwright::interop
