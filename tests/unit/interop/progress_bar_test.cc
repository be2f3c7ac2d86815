// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/progress_bar.h"

#include <gtest/gtest.h>

namespace meshwright::interop {
namespace {

TEST(ProgressBar, SaysStepsTimeAndRate) {
  std::string_view text =
      "Epoch 3:   3%|\xe2\x96\x8e     | 12/400 [1:03:20<1:48:00, 16.73s/it, v=1]";
  const auto bar = next_progress_bar(text);
  ASSERT_TRUE(bar);
  EXPECT_EQ(bar->label, "epoch");
  EXPECT_EQ(bar->done, 12);
  EXPECT_EQ(bar->total, 400);
  EXPECT_DOUBLE_EQ(bar->elapsed->value(), 3800.0);
  EXPECT_DOUBLE_EQ(bar->time_per_step->value(), 16.73);
  EXPECT_FALSE(next_progress_bar(text));
}

TEST(ProgressBar, BarsOfALineComeInTurn) {
  std::string_view text = " 1%|#| 1/4 [00:02<?, 2.00it/s]{'loss': 1} 50%|##| 2/4 [00:03<00:01]";
  EXPECT_DOUBLE_EQ(next_progress_bar(text)->time_per_step->value(), 0.5);
  const auto second = next_progress_bar(text);
  EXPECT_EQ(second->done, 2);
  EXPECT_EQ(second->label, "");
  EXPECT_FALSE(second->time_per_step);
  EXPECT_TRUE(second->counts_steps);
}

TEST(ProgressBar, OtherUnitsAreNoSteps) {
  std::string_view text = "100%|##| 1000/1000 [00:01<00:00, 5000.00 examples/s]";
  EXPECT_FALSE(next_progress_bar(text)->counts_steps);
  text = "100%|##| 1000/1000 [00:01<00:00, 5.2MB/s]";
  EXPECT_FALSE(next_progress_bar(text)->counts_steps);
}

TEST(ProgressBar, BrokenOnesAreLeftOut) {
  for (std::string_view text : {"3%|", "3%|##| 12", "3%|##| 12/400", "3%|##| a/b [00:01<00:02]",
                                "3%|##| 9999999999/1 [00:01<00:02]"}) {
    EXPECT_FALSE(next_progress_bar(text)) << text;
  }
}

}  // namespace
}  // namespace meshwright::interop
