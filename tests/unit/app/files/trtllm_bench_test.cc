// SPDX-License-Identifier: Apache-2.0
#include "app/files/trtllm_bench.h"

#include <gtest/gtest.h>

namespace meshwright::app {
namespace {

// 330 requests: next 128 is 384. 330 * (1 + 1,000 / 1,000) = 660 rows are below the least, 2,048.
// 673 requests: 768; 673 * 9 = 6,057 rows: next 512 is 6,144, fewer than 8,192 + 768.
// 2,048 requests: 2,048 * 9 = 18,432 rows, whole in 1,024.
TEST(TrtllmBenchLimits, FollowTheRequestsThatTheCacheHolds) {
  EXPECT_EQ(trtllm_bench_limits(330, 1000, 1000, 1), (BenchLimits{384, 2048}));
  EXPECT_EQ(trtllm_bench_limits(673, 8192, 1024, 1), (BenchLimits{768, 8960}));
  EXPECT_EQ(trtllm_bench_limits(2048, 8192, 1024, 1), (BenchLimits{2048, 18432}));
}

// Few requests: 64 and 2,048. Many: 4,096 over two stages, 32,768 rows.
TEST(TrtllmBenchLimits, HaveEnds) {
  EXPECT_EQ(trtllm_bench_limits(3, 100, 100, 1), (BenchLimits{64, 2048}));
  EXPECT_EQ(trtllm_bench_limits(1e6, 2048, 128, 2), (BenchLimits{2048, 32768}));
}

}  // namespace
}  // namespace meshwright::app
