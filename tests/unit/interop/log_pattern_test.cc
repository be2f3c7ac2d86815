// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/log_pattern.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

using testing::HasSubstr;

// Numbers that a pattern finds in a line, or "-".
std::string numbers(const std::string& pattern, std::string_view line) {
  const auto found = LineRegex(pattern, "--p").match(line);
  if (!found) return "-";
  std::string text;
  for (const std::string_view number : *found) text += fmt::format("{};", number);
  return text;
}

TEST(LineRegex, PlaceholdersAreWholeNumbers) {
  EXPECT_EQ(numbers("step {step} .* {seconds}s", "a step 12 loss 2.5 in 13.75s"), "12;13.75;");
  // A greedy ".*" leaves the number whole.
  EXPECT_EQ(numbers("step.*{seconds}s", "step 1 took 12.51s"), "12.51;");
  EXPECT_EQ(numbers("took {seconds}", "took 1,234.5e-3, then"), "1,234.5e-3;");
  EXPECT_EQ(numbers("tps: {rate}", "tps: 2.05K"), "2.05K;");
  EXPECT_EQ(numbers("took {seconds},", "took 12, then"), "12;");
}

TEST(LineRegex, KnowsTheUsualSyntax) {
  EXPECT_EQ(numbers("^\\[\\d{4}-\\d\\d\\] (?:it|step)\\s+{n}$", "[2025-03] step   7"), "7;");
  EXPECT_EQ(numbers("[^a-z]x{n}", "ax1 Ax2"), "2;");
  EXPECT_EQ(numbers("\\bt={n}", "dt=1 t=2"), "2;");
  EXPECT_EQ(numbers("a.*?={n}", "a=1 b=2"), "1;");
  EXPECT_EQ(numbers("a.*={n}", "a=1 b=2"), "2;");
  EXPECT_EQ(numbers("(a={n}|b={m})", "b=2"), ";2;");
  EXPECT_EQ(numbers("\\{x\\} {n}", "{x} 3"), "3;");
  EXPECT_EQ(numbers("x{2,3}y {n}", "xy 1 xxy 2"), "2;");
  EXPECT_EQ(numbers("[]-]{n}", "]5"), "5;");
  EXPECT_EQ(numbers("q {n}", "x 5"), "-");
}

// Backtracking would take 2^64 steps: it ends, and says so.
TEST(LineRegex, EndsWhereALineTakesTooManySteps) {
  EXPECT_THROW(numbers("(a*)*(a|a)*b {n}", std::string(64, 'a')), InputError);
  EXPECT_EQ(numbers("(.*)x {n}", std::string(5000, 'a')), "-");
}

std::string refusal(const std::string& pattern) {
  try {
    const LogPattern read(pattern);
  } catch (const InputError& error) {
    return fmt::format("{} / {}", error.what(), error.hint());
  }
  return "";
}

TEST(LogPattern, WhatIsWrongIsSaid) {
  EXPECT_THAT(refusal("step {step}"), HasSubstr("no placeholder of a step's time / use one of"));
  EXPECT_THAT(refusal("{seconds} {milliseconds}"), HasSubstr("more than one placeholder"));
  EXPECT_THAT(refusal("{step} {step} {seconds}"), HasSubstr("has {step} twice"));
  EXPECT_THAT(refusal("{minutes}"), HasSubstr("{minutes} is no placeholder"));
  for (const char* wrong : {"({seconds}", "{seconds})", "[a{seconds}", "[b-a] {seconds}",
                            "*{seconds}", "a{3,2}{seconds}", "{seconds}\\"}) {
    EXPECT_THAT(refusal(wrong), HasSubstr("is no regular expression")) << wrong;
  }
  EXPECT_THAT(refusal("{seconds"), HasSubstr("opens no placeholder"));
  EXPECT_THAT(refusal("(?=a){seconds}"), HasSubstr("only (...) and (?:...)"));
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal(std::string(2000, 'a')), HasSubstr("2000 characters"));
  EXPECT_EQ(refusal("step {step} .* {seconds}s"), "");
}

// 8 sequences of 1,000 tokens: on 2 devices at 500 a second each, or all at 1,000, they take 8 s.
TEST(LogPattern, EveryKindOfTimeBecomesSeconds) {
  const auto median = [](const std::string& pattern, const std::string& line) {
    const LogPattern read(pattern);
    return measured_steps(read_training_log(line, &read), {1000, 8, 2})->median.value();
  };
  EXPECT_NEAR(median("t {seconds}", "t 8.0\n"), 8.0, 1e-12);
  EXPECT_NEAR(median("t {milliseconds}", "t 8000\n"), 8.0, 1e-12);
  EXPECT_NEAR(median("t {steps_per_second}", "t 0.125\n"), 8.0, 1e-12);
  EXPECT_NEAR(median("t {samples_per_second}", "t 1\n"), 8.0, 1e-12);
  EXPECT_NEAR(median("t {tokens_per_second}", "t 1K\n"), 8.0, 1e-12);
  EXPECT_NEAR(median("t {tokens_per_second_per_gpu}", "t 500\n"), 8.0, 1e-12);
  EXPECT_NEAR(median("b {global_batch_size} t {samples_per_second}", "b 16 t 1\n"), 16.0, 1e-12);
}

TEST(LogPattern, StandsInPlaceOfKnownSoftware) {
  const LogPattern pattern("step {step} took {seconds}s, {memory_gib} GiB");
  const TrainingLog log = read_training_log(
      "iteration 1/ 9 | elapsed time per iteration (ms): 1.0 |\n"
      "step 7 took 2.5s, 61.5 GiB\nstep 7 took 2.5s, 61.0 GiB\nstep 8 took 0.0s, 1.0 GiB\n",
      &pattern);
  EXPECT_EQ(log.target, "--log-pattern");
  ASSERT_EQ(log.steps.size(), 1U);
  EXPECT_EQ(log.steps[0].iteration, 7);
  EXPECT_DOUBLE_EQ(log.peak_allocated->value(), 61.5 * 1073741824);
}

TEST(LogPattern, StepsWithoutANumberAreCounted) {
  const LogPattern pattern("took {seconds}");
  const TrainingLog log = read_training_log("took 1.0\ntook 1.0\ntook 2.0\n", &pattern);
  EXPECT_EQ(log.steps.size(), 3U);
}

TEST(LogPattern, TheNearestLineHasMostOfItsWords) {
  const LogPattern pattern("iteration {step} took {seconds}");
  EXPECT_EQ(pattern.nearest_line("it took long\niteration 1\niteration 2 Took 5 s\n"
                                 "iteration 3 took 5 s\n"),
            "iteration 2 Took 5 s");
  EXPECT_EQ(pattern.nearest_line("loss 1.5\n"), "");
}

}  // namespace
}  // namespace meshwright::interop
