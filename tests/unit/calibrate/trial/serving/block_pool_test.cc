// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/block_pool.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace meshwright::calibrate {
namespace {

// Blocks of 4 tokens: 5 tokens take two, 8 still two, 9 three.
TEST(BlockPool, ATableGrowsByWholeBlocks) {
  BlockPool pool(6, 4);
  BlockTable a, b;
  pool.hold(a, 5);
  EXPECT_EQ(a, (BlockTable{0, 1}));
  pool.hold(b, 1);
  EXPECT_EQ(b, BlockTable{2});
  pool.hold(a, 8);
  EXPECT_EQ(a.size(), 2U);
  pool.hold(a, 9);
  EXPECT_EQ(a, (BlockTable{0, 1, 3}));
  EXPECT_EQ(pool.used(), 4);
}

TEST(BlockPool, WhatIsGivenBackIsHandedOutAgain) {
  BlockPool pool(3, 4);
  BlockTable a, b;
  pool.hold(a, 12);
  pool.give_back(a);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(pool.used(), 0);
  pool.hold(b, 12);
  EXPECT_EQ(b, (BlockTable{0, 1, 2}));
  EXPECT_THROW(pool.hold(a, 1), std::logic_error);  // the scheduler had to see to it
}

}  // namespace
}  // namespace meshwright::calibrate
