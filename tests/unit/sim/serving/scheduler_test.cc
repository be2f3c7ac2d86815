// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/scheduler.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/serving/plain_replica.h"

namespace meshwright {
namespace {

ServingReplica of_100_tokens() { return test::plain_replica(seconds(1), seconds(1), 100); }

// 100 B of 1 B a token are 100 tokens, and 6 whole blocks of 16 are 96.
TEST(CacheCapacity, CountsWholeBlocks) {
  ServingReplica replica = of_100_tokens();
  EXPECT_EQ(cache_capacity(replica), 100.0);
  replica.rule.block_size = 16;
  EXPECT_EQ(cache_capacity(replica), 96.0);
}

// 2 B of full layers and 3 B of windows a token: 50 tokens of full layers. A request keeps a window
// of 20 tokens, 2 blocks of 16, and a block: 48 tokens of 3 B are worth 72 of 2 B.
TEST(CacheCapacity, WindowsTakeTheirShareOfEachRequest) {
  ServingReplica replica = of_100_tokens();
  replica.memory.sequence = {.full_token = bytes(2), .window_token = bytes(3), .window = 20};
  EXPECT_EQ(cache_capacity(replica), 50.0);
  EXPECT_EQ(window_equivalent_tokens(replica), 72.0);
  replica.memory.sequence.full_token = {};
  EXPECT_EQ(window_equivalent_tokens(replica), 0.0);
}

}  // namespace
}  // namespace meshwright
