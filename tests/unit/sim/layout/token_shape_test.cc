// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/token_shape.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// Two sequences of 8,192 tokens on four context ranks: 8192 / 4 = 2048 of each a rank, 2 * 2048 in
// all, and each query attends to all 8,192.
TEST(TokenShape, ContextRanksShareASequence) {
  Job job;
  job.seq_length = 8192;
  Layout layout;
  layout.micro_batch_size = 2;
  layout.context_parallel_size = 4;
  const TokenShape shape = micro_batch_tokens(job, layout);
  EXPECT_EQ(shape, (TokenShape{2, 2048, 2048}));
  EXPECT_EQ(tokens(shape), 4096);
  EXPECT_EQ(all_keys(shape, layout), 8192);
}

// Three sequences that get one more token each, beside 2,000: three tokens of work.
TEST(TokenShape, KeysAreNoWorkOfTheirOwn) {
  const TokenShape decode{3, 1, 2001};
  EXPECT_EQ(tokens(decode), 3);
  EXPECT_EQ(all_keys(decode, Layout{}), 2001);
}

}  // namespace
}  // namespace meshwright
