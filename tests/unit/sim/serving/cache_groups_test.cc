// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/cache_groups.h"

#include <gtest/gtest.h>

#include "tests/unit/llama_model.h"

namespace meshwright {
namespace {

Engine grouping_engine(int steps) {
  Engine engine;
  engine.cache = {.group_slack = 1.5, .steps_in_flight = steps, .state_pages = 2};
  return engine;
}

// Gemma-3-27B: 52 layers with windows in ceil(52 / 10) = 6 groups beside one of 10 full layers. Of
// 12 and 13 layers, 13 < 1.5 * 12: a group each, and one place of the smaller kind is empty.
TEST(CacheGroups, AreAsLargeAsTheRarestKind) {
  const CachedLayers gemma{.full = 10, .window = 52};
  const CacheGroups seven = cache_groups(gemma, gemma, 1.5);
  EXPECT_EQ(seven.full, 1);
  EXPECT_EQ(seven.window, 6);
  EXPECT_EQ(seven.layers, 10);
  const CachedLayers even{.full = 13, .window = 12};
  const CacheGroups two = cache_groups(even, even, 1.5);
  EXPECT_EQ(two.count(), 2);
  EXPECT_EQ(two.layers, 13);
}

// A stage with 5 of the 10 full layers and 26 of the 52 others: ceil(26 / 6) = 5 in a group.
TEST(CacheGroups, OfAStageAreThoseOfTheWholeModel) {
  const CacheGroups groups =
      cache_groups({.full = 10, .window = 52}, {.full = 5, .window = 26}, 1.5);
  EXPECT_EQ(groups.count(), 7);
  EXPECT_EQ(groups.layers, 5);
}

// Two steps in flight of one stage, one where host and device take turns; a stage more, a step
// more.
TEST(StepsInFlight, FollowStagesAndTheHost) {
  Engine engine = grouping_engine(2);
  EXPECT_EQ(steps_in_flight(engine, {}), 2);
  EXPECT_EQ(steps_in_flight(engine, {.pipeline_parallel_size = 2}), 3);
  engine.host.overlapped = false;
  EXPECT_EQ(steps_in_flight(engine, {}), 1);
}

// 32 layers of 4,096 B a token, one of 4 full: 3 groups of windows and 1 of full ones, 8 layers
// each; a block of 16 tokens is 8 * 16 * 4,096 B = 512 KiB. Of 131,072 tokens a request reserves
// 8,192 blocks and 3 * (ceil((4,096 - 1 + 2 * 8,192) / 16) + 1) = 3 * 1,281, in chunks 3 * 1,280.
TEST(InGroups, WindowsReserveTheTokensInFlight) {
  Model model = llama_model();
  model.sliding_window = 4096;
  model.sliding_window_interval = 4;
  ReplicaOptions options;
  options.max_num_batched_tokens = 8192;
  const auto cache = [&] {
    return in_groups(sequence_cache(model, options, 16), model, grouping_engine(2), options);
  };
  const CacheGroups groups = cache().groups;
  EXPECT_EQ(groups.count(), 4);
  EXPECT_EQ(groups.block, kibibytes(512));
  EXPECT_EQ(groups.blocks_of(131'072, 16), 8192 + 3 * 1281);
  EXPECT_EQ(groups.blocks_of(160, 16), 10 + 3 * 11);
  model.sliding_window_in_chunks = true;
  EXPECT_EQ(cache().groups.blocks_of(131'072, 16), 8192 + 3 * 1280);
}

// 3 of 4 layers keep 8 states; 16 tokens of a layer are 64 KiB. A state of 100 KiB takes blocks of
// 32 tokens, and two of these in each of 3 groups: 8 full layers, 8 * 128 KiB a block.
TEST(InGroups, BlocksGrowUntilTheyHoldAState) {
  Model model = llama_model();
  model.linear_attention.emplace();
  model.linear_attention->linear_attention_freq = 4;
  SequenceCache plain = sequence_cache(model, {}, 16);
  plain.state = kibibytes(100) * 24.0;
  const SequenceCache cache = in_groups(plain, model, grouping_engine(1), {});
  EXPECT_EQ(cache.block_size, 32);
  EXPECT_EQ(cache.groups.block, kibibytes(8 * 128));
  EXPECT_EQ(cache.groups.state_blocks, 6);
  EXPECT_EQ(cache.state, kibibytes(8 * 128) * 6.0);
  EXPECT_EQ(cache.groups.blocks_of(320, 32), 10 + 6);
}

}  // namespace
}  // namespace meshwright
