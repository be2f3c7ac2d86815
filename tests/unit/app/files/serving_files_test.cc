// SPDX-License-Identifier: Apache-2.0
#include "app/files/serving_files.h"

#include <gtest/gtest.h>

namespace meshwright::app {
namespace {

TEST(NearestEngine, OfAVersionIsTheNearestThatIsShipped) {
  EXPECT_EQ(nearest_engine("vllm", "0.17.1"), "vllm-0.17");
  EXPECT_EQ(nearest_engine("vllm", "vllm-openai:v0.13.0"), "vllm-0.12");
  EXPECT_EQ(nearest_engine("sglang", "v0.5.10.post1"), "sglang-0.5.9");
  EXPECT_EQ(nearest_engine("mii", ""), "");
}

// vLLM 0.12 is of December 2025 and the oldest, 0.14 of January, 0.17 of March 2026; SGLang 0.5.5
// of November 2025.
TEST(NearestEngine, WithoutAVersionIsTheNewestOfTheDate) {
  EXPECT_EQ(nearest_engine("vllm", "", "2025-10-29"), "vllm-0.12");
  EXPECT_EQ(nearest_engine("vllm", "", "2026-02-28"), "vllm-0.14");
  EXPECT_EQ(nearest_engine("vllm", "", "2026-03-28"), "vllm-0.17");
  EXPECT_EQ(nearest_engine("vllm", "", ""), "vllm-0.32");
  EXPECT_EQ(nearest_engine("vllm", "0.19.0", "2025-10-29"), "vllm-0.19");
  EXPECT_EQ(nearest_engine("sglang", "", "2025-10-29"), "sglang-0.5.5");
}

TEST(WithOverlap, TakesTheHostOfTheNearestVersionThatRunsSo) {
  const Engine before = load_engine("vllm-0.12"), since = load_engine("vllm-0.14");
  const Engine newest = load_engine("vllm-0.24");
  EXPECT_FALSE(before.host.overlapped);
  EXPECT_TRUE(since.host.overlapped);
  const Engine switched_on = with_overlap(before, true);
  EXPECT_EQ(switched_on.host, since.host);
  EXPECT_EQ(switched_on.time_factor, since.time_factor);
  EXPECT_EQ(switched_on.memory, before.memory);
  EXPECT_EQ(with_overlap(newest, false).host, before.host);
  EXPECT_EQ(with_overlap(newest, true).host, newest.host);
}

}  // namespace
}  // namespace meshwright::app
