// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interop/logs/training_log.h"

namespace meshwright::interop {
namespace {

std::string dllogger(int step, double time, const std::string& number = "") {
  return fmt::format(
      "DLLL {{\"elapsedtime\": \"200.0\", \"type\": \"LOG\", \"step\": {}, \"data\": "
      "{{\"reduced_train_loss\": 1.8, \"lr\": 1.1e-06, \"global_step\": {}.0, "
      "\"consumed_samples\": "
      "{}.0, \"train_backward_timing in s\": 4.5e-05, \"train_step_timing in s\": {:.3f}, "
      "\"epoch\": 0}}}}\n",
      number.empty() ? std::to_string(step) : number, step, 64 * (step + 1), time);
}

// One of ten steps is warm-up; the median of nine from 20.00 to 20.08 is 20.04.
TEST(NemoLines, DlloggersStepsHaveTheirTimeAndTheBatchBetweenThem) {
  std::string text = "DLLL {\"type\": \"LOG\", \"step\": \"PARAMETER\", \"data\": {\"seed\": 1}}\n";
  text += dllogger(0, 90.0);
  for (int i = 1; i < 10; ++i) text += dllogger(i, 20.0 + 0.01 * (i - 1));
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "NeMo");
  ASSERT_EQ(log.steps.size(), 10U);
  EXPECT_EQ(log.steps[3].iteration, 3);
  const auto steps = measured_steps(log, {});
  EXPECT_NEAR(steps->median.value(), 20.04, 1e-9);
  EXPECT_EQ(steps->global_batch_size, 64);
  EXPECT_EQ(steps->other_batch, 0);  // the first step has the next one's
}

TEST(NemoLines, DlloggersNumberMayBeAListAndItsObjectMayTakeSeveralLines) {
  EXPECT_EQ(read_training_log(dllogger(7, 2.0, "[0, 7]")).steps.at(0).iteration, 7);
  const TrainingLog log = read_training_log(
      "DLLL {\n  \"type\": \"LOG\",\n  \"step\": 47,\n  \"data\": {\n"
      "    \"consumed_samples\": 98304,\n    \"train_step_timing in s\": 25.5\n  }\n}\n");
  ASSERT_EQ(log.steps.size(), 1U);
  EXPECT_EQ(log.steps[0].iteration, 47);
  EXPECT_DOUBLE_EQ(log.steps[0].time->value(), 25.5);
}

std::string nemo2(int step, double time, const std::string& more = "") {
  return fmt::format(
      "0: Training epoch 0, iteration {}/99 | lr: 3e-05 | global_step: {} | {}reduced_train_loss: "
      "11.03 | train_step_timing in s: {:.2f} | consumed_samples: {}\n",
      step, step, more, time, 512 * (step + 1));
}

TEST(NemoLines, TextOfVersion2) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += nemo2(i, 26.2 + 0.05 * i,
                  "max_memory_reserved: 2147483648 | max_memory_allocated: 1073741824 | "
                  "TFLOPS_per_GPU: 1.249e+03 | ");
  }
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "NeMo");
  EXPECT_DOUBLE_EQ(log.steps[0].tflops_per_gpu.value(), 1249.0);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 1073741824.0);
  EXPECT_DOUBLE_EQ(log.peak_reserved->value(), 2147483648.0);
  const auto steps = measured_steps(log, {});
  EXPECT_NEAR(steps->median.value(), (26.30 + 26.35) / 2, 1e-9);  // of 26.25 to 26.40
  EXPECT_EQ(steps->global_batch_size, 512);
}

TEST(NemoLines, AStatedBatchOfVersion2AndItsSecondEpoch) {
  std::string text = nemo2(0, 3.0, "global_batch_size: 256 | ");
  text +=
      "Training epoch 1, iteration 0/99 | global_step: 100 | global_batch_size: 256 | "
      "train_step_timing in s: 3.1\n";
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.steps.size(), 2U);
  EXPECT_TRUE(log.starts.empty());
  EXPECT_EQ(log.steps[1].global_batch_size, 256);
}

std::string bar(int step, double time, const std::string& consumed) {
  return fmt::format(
      "Epoch 0: :   {}%|\xe2\x96\x88   | {}/400 [01:41<54:40, v_num=0, reduced_train_loss=2.1, "
      "global_step={}.00, consumed_samples={}, train_step_timing in s={:.3f}]",
      step / 4, step, step - 1, consumed, time);
}

TEST(NemoLines, TheProgressBarIsOneLongLine) {
  std::string text = "Epoch 0: :   0%|          | 0/400 [00:00<?]\r";
  for (int i = 1; i <= 4; ++i) text += bar(i, 8.45 + i, fmt::format("{}.0", 512 * i)) + "\r";
  text += bar(4, 12.45, "2048.0") + "\n";
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "NeMo");
  ASSERT_EQ(log.steps.size(), 4U);
  EXPECT_EQ(log.steps[1].iteration, 2);
  EXPECT_NEAR(log.steps[1].time->value(), 10.45, 1e-9);
  EXPECT_EQ(log.steps[1].global_batch_size, 512);
}

TEST(NemoLines, RoundedSamplesSayNoBatch) {
  std::string text;
  for (int i = 1; i <= 4; ++i) text += bar(i, 8.0, i < 3 ? "1.28e+6" : "1.29e+6") + "\r";
  EXPECT_EQ(measured_steps(read_training_log(text), {})->global_batch_size, 0);
}

TEST(NemoLines, ABarWithoutATotalCountsByItsStep) {
  const TrainingLog log = read_training_log(
      "Epoch 1: : 1it [00:04,  4.36s/it, v_num=d3c7, global_step=1.000, consumed_samples=128.0, "
      "train_step_timing in s=3.370]\n");
  ASSERT_EQ(log.steps.size(), 1U);
  EXPECT_EQ(log.steps[0].iteration, 1);
}

// Lightning draws its bar and writes DLLogger's lines into one file: those are not rounded.
TEST(NemoLines, DlloggerGoesBeforeTheProgressBar) {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += bar(i + 1, 20.0, "64.0") + "\r" + dllogger(i, 20.012);
  }
  const TrainingLog log = read_training_log(text);
  EXPECT_NEAR(measured_steps(log, {})->median.value(), 20.012, 1e-9);
}

TEST(NemoLines, AutomodelPrintsTheRateOfADevice) {
  const TrainingLog log = read_training_log(
      "2025-09-01 07:13:33 | INFO | root | step 1 | epoch 0 | loss 10.9521 | grad_norm 12.9375 | "
      "lr "
      "6.08e-05 | mem 38.00 GiB | tps 1000.00(500.00/gpu) | num_label_tokens 4000\n");
  EXPECT_EQ(log.target, "NeMo AutoModel");
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 38.0 * 1073741824);
  EXPECT_NEAR(measured_steps(log, {1000, 4, 2})->median.value(), 4.0, 1e-12);
}

TEST(NemoLines, OtherTextHasNoSteps) {
  EXPECT_TRUE(read_training_log("DLLL {\"type\": \"LOG\", \"step\": {}, \"data\": {}}\n"
                                "train_step_timing in s: none\n"
                                "train_step_timing in s: 3.5\n")
                  .steps.empty());
}

}  // namespace
}  // namespace meshwright::interop
