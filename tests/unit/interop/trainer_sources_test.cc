// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interop/logs/training_log.h"

namespace meshwright::interop {
namespace {

std::string clock_of(int seconds) {
  return seconds < 3600
             ? fmt::format("{:02d}:{:02d}", seconds / 60, seconds % 60)
             : fmt::format("{}:{:02d}:{:02d}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string bar(int done, int total, int elapsed, const std::string& rate,
                const std::string& label = "  ") {
  return fmt::format("\r{}{}%|\xe2\x96\x8e  | {}/{} [{}<1:48:00, {}]", label, 100 * done / total,
                     done, total, clock_of(elapsed), rate);
}

// Steps of 15 s each, the first of 100 s. tqdm's own rate is still off.
TEST(ProgressBarSource, StepsAreDifferencesOfElapsedTime) {
  std::string text = "Map: 100%|###| 9/9 [59:00<00:00, 500.00 examples/s]\n";
  for (int i = 0; i <= 40; ++i) {
    text += bar(i, 400, i == 0 ? 0 : 85 + 15 * i, i == 0 ? "?it/s" : "31.00s/it");
    if (i % 10 == 0) text += "\n{'loss': 1.2, 'grad_norm': 0.5, 'epoch': 0.1}\n";
  }
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "Hugging Face Trainer");
  const auto steps = measured_steps(log, {});
  EXPECT_NEAR(steps->median.value(), 15.0, 1e-9);
  EXPECT_NEAR(steps->p90.value(), 15.0, 1e-9);
}

// 0.8 s a step: rounding to whole seconds is nothing over spans of 20 s and more.
TEST(ProgressBarSource, FastStepsAreTakenTogether) {
  std::string text;
  for (int i = 0; i <= 400; ++i) text += bar(i, 400, i * 8 / 10, "1.30it/s") + "\n";
  EXPECT_NEAR(measured_steps(read_training_log(text), {})->median.value(), 0.8, 0.01);
}

TEST(ProgressBarSource, ShortRunsHaveTqdmsRateOnly) {
  std::string text;
  for (int i = 0; i <= 20; ++i) text += bar(i, 400, i * 8 / 10, "1.25it/s");
  EXPECT_NEAR(measured_steps(read_training_log(text), {})->median.value(), 0.8, 1e-9);
}

// Evaluation has a bar without a label, too, but its bars last shorter.
TEST(ProgressBarSource, BarsOfOtherWorkAreLeftOut) {
  std::string text;
  for (int i = 0; i <= 30; ++i) {
    text += bar(i, 60, 20 * i, "20.00s/it", "[rank0]:   ");
    for (int k = 0; k <= 50 && i == 15; ++k) text += bar(k, 50, k, "1.00s/it", "");
    text += bar(i, 30, 1000 * i, "1000.00s/it", "Loading checkpoint shards: ");
  }
  EXPECT_NEAR(measured_steps(read_training_log(text), {})->median.value(), 20.0, 1e-9);
}

TEST(ProgressBarSource, ARunThatBeginsAgainWarmsUpAgain) {
  std::string text;
  for (int i = 0; i <= 20; ++i) text += bar(i, 60, 30 * i, "30.00s/it");
  // From the checkpoint of step 10, which is a jump in the first second.
  text += bar(0, 60, 0, "?it/s") + bar(10, 60, 1, "10.00it/s");
  for (int i = 11; i <= 30; ++i) text += bar(i, 60, 1 + 30 * (i - 10), "30.00s/it");
  const TrainingLog log = read_training_log(text);
  const auto steps = measured_steps(log, {});
  EXPECT_EQ(steps->restarts, 1);
  EXPECT_NEAR(steps->p10.value(), 30.0, 1e-9);
}

TEST(ProgressBarSource, TheTrainerSaysItsBatchOnce) {
  std::string text =
      "  Total train batch size (w. parallel, distributed & accumulation) = 1,024\n"
      "  Total optimization steps = 60\n"
      "  Number of trainable parameters = 8,030,261,248\n";
  for (int i = 0; i <= 20; ++i) text += bar(i, 60, 30 * i, "30.00s/it");
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(measured_steps(log, {})->global_batch_size, 1024);
  EXPECT_FALSE(log.parameters);
}

// 6,680 s for 400 steps, the first included.
TEST(ProgressBarSource, ALastBarAloneIsAMean) {
  const TrainingLog log = read_training_log(bar(400, 400, 6680, "16.73s/it") + "\n");
  ASSERT_EQ(log.steps.size(), 1U);
  EXPECT_NEAR(log.steps[0].time->value(), 16.7, 1e-9);
}

TEST(ProgressBarSource, LlamaFactorysFileHasTheSame) {
  std::string text;
  for (int i = 10; i <= 200; i += 10) {
    text += fmt::format(
        "{{\"current_steps\": {}, \"total_steps\": 400, \"loss\": 1.5, \"epoch\": 0.1, "
        "\"elapsed_time\": \"{}\", \"remaining_time\": \"1:48:00\"}}\n",
        i, clock_of(12 * i));
  }
  EXPECT_NEAR(measured_steps(read_training_log(text), {})->median.value(), 12.0, 1e-9);
}

// 5,230.11 s for 400 steps.
TEST(RunTimeSource, TheWholeRunIsTheLastResort) {
  const std::string summary =
      "{'train_runtime': 5230.11, 'train_samples_per_second': 9.789, 'train_steps_per_second': "
      "0.076, 'train_loss': 1.1, 'epoch': 1.0}\n";
  const TrainingLog log = read_training_log("  Total optimization steps = 400\n" + summary);
  EXPECT_EQ(log.target, "Hugging Face Trainer");
  EXPECT_NEAR(measured_steps(log, {})->median.value(), 5230.11 / 400, 1e-9);
  // 5,230.11 x 0.076 is 397.5.
  EXPECT_NEAR(measured_steps(read_training_log(summary), {})->median.value(), 5230.11 / 397, 1e-9);
}

TEST(RunTimeSource, NumbersMayBeQuotedOrATable) {
  const TrainingLog quoted = read_training_log(
      "{'train_runtime': '158.8', 'train_samples_per_second': '26.2', 'train_steps_per_second': "
      "'1.638', 'train_loss': '1.567', 'memory/max_allocated (GiB)': '2.5', "
      "'memory/device_reserved "
      "(GiB)': '7.75', 'epoch': '1'}\n");
  EXPECT_EQ(quoted.steps.at(0).iteration, 260);
  EXPECT_DOUBLE_EQ(quoted.peak_allocated->value(), 2.5 * 1073741824);
  EXPECT_DOUBLE_EQ(quoted.peak_reserved->value(), 7.75 * 1073741824);
  const TrainingLog table = read_training_log(
      "***** train metrics *****\n"
      "  epoch                    =        1.0\n"
      "  train_runtime            = 1:00:00.50\n"
      "  train_samples_per_second =       12.2\n"
      "  train_steps_per_second   =        0.1\n");
  EXPECT_NEAR(table.steps.at(0).time->value(), 3600.5 / 360, 1e-9);
}

// After n steps 60 + 20 n seconds have passed.
TEST(SwiftSource, DifferencesOfTheMeanSpeedAreSteps) {
  std::string text;
  for (int i = 1; i <= 20; ++i) {
    text += fmt::format(
        "{{'loss': 2.58, 'grad_norm': 17.1, 'memory(GiB)': 67.5, 'train_speed(iter/s)': {:.6f}, "
        "'epoch': 0.02, 'global_step/max_steps': '{}/100', 'elapsed_time': '34s'}}\n",
        i / (60.0 + 20.0 * i), i);
  }
  const TrainingLog log = read_training_log(text);
  EXPECT_EQ(log.target, "ms-swift");
  EXPECT_DOUBLE_EQ(log.peak_reserved->value(), 67.5 * 1073741824);
  EXPECT_NEAR(measured_steps(log, {})->median.value(), 20.0, 0.01);
}

TEST(SwiftSource, ItsMegatronPartCountsFromTheCheckpoint) {
  std::string text;
  for (int n = 5; n <= 50; n += 5) {
    const int elapsed = 60 + 20 * n;
    text += fmt::format(
        "{{'loss': 2.58, 'iteration': '{}/2000', 'elapsed_time': '{}m {}s', 'memory(GiB)': 67.5, "
        "'train_speed(s/it)': {:.6f}}}\n",
        1000 + n, elapsed / 60, elapsed % 60, static_cast<double>(elapsed) / n);
  }
  const TrainingLog log = read_training_log(text);
  EXPECT_NEAR(log.steps.at(0).time->value(), 160.0 / 5, 1e-6);
  EXPECT_NEAR(measured_steps(log, {})->median.value(), 20.0, 1e-4);
}

TEST(SwiftSource, ItsJsonLinesAreReadLikewise) {
  const TrainingLog log = read_training_log(
      "{\"loss\": 1.8, \"memory(GiB)\": 15.5, \"train_speed(iter/s)\": 0.25, "
      "\"steps[global_step/max_steps]\": \"60/61\", \"elapsed_time\": \"4m 0s\"}\n");
  EXPECT_EQ(log.steps.at(0).iteration, 60);
  EXPECT_NEAR(log.steps[0].time->value(), 4.0, 1e-9);
}

// 4 sequences of 1,000 tokens on 2 devices at 500 a second each take 4 s.
TEST(TrainerRate, AxolotlsTokensASecondStandWhereNothingElseDoes) {
  const TrainingLog log = read_training_log(
      "{'loss': '0.71', 'memory/max_mem_allocated(gib)': 61.5, 'tokens/train_per_sec_per_gpu': "
      "'500.0'}\n"
      "{'loss': '0.70', 'memory/max_mem_allocated(gib)': 60.5, 'tokens_per_second_per_gpu': "
      "500.0}\n"
      "{'eval_loss': '0.70', 'tokens_per_second_per_gpu': 100.0}\n");
  EXPECT_EQ(log.target, "axolotl");
  EXPECT_EQ(log.steps.size(), 2U);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 61.5 * 1073741824);
  EXPECT_NEAR(measured_steps(log, {1000, 4, 2})->median.value(), 4.0, 1e-12);
}

TEST(TrainerSources, OtherTextHasNoSteps) {
  EXPECT_TRUE(
      read_training_log(" 3%|# | 12/400 [?<?, ?it/s]\n50%|x| no bar\n%|| 1/0 [00:00<00:00]\n"
                        "{'train_runtime': 'none', 'train_speed(iter/s)': 0.0}\n")
          .steps.empty());
}

}  // namespace
}  // namespace meshwright::interop
