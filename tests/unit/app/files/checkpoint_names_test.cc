// SPDX-License-Identifier: Apache-2.0
#include "app/files/checkpoint_names.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(CheckpointNames, ADateOfReleaseLeavesTheShape) {
  EXPECT_EQ(app::model_of_checkpoint("deepseek-ai/DeepSeek-V4-Flash-0731"), "deepseek-v4-flash");
  EXPECT_EQ(app::model_of_checkpoint("deepseek-ai/DeepSeek-V3-1226"), "deepseek-v3");
  EXPECT_EQ(app::model_of_checkpoint("Qwen/Qwen3-32B-Instruct-2611-FP8"), "qwen3-32b");
}

TEST(CheckpointNames, ANumberThatIsNoDateIsPartOfTheName) {
  EXPECT_EQ(app::without_variants("name-1332"), "name-1332");
  EXPECT_EQ(app::without_variants("name-2213"), "name-2213");
  EXPECT_EQ(app::without_variants("name-052"), "name-052");
  EXPECT_EQ(app::without_variants("name-0532"), "name-0532");
  EXPECT_EQ(app::without_variants("name-0531"), "name");
}

}  // namespace
}  // namespace meshwright
