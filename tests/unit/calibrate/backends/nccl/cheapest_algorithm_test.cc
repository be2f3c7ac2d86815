// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/cheapest_algorithm.h"

#include <gtest/gtest.h>

#include <array>

namespace meshwright::calibrate {
namespace {

// Row 1, column 2 of rows of 3; a -1 is no time.
TEST(CheapestAlgorithm, TheCheapestPossibleEntryIsNamed) {
  const std::array<float, 9> table{9, 8, -1, 7, 6, 2, 5, -1, -1};
  EXPECT_EQ(cheapest_algorithm(table, 3), "ring simple");
}

TEST(CheapestAlgorithm, NothingPossibleIsNoChoice) {
  EXPECT_EQ(cheapest_algorithm(std::array<float, 3>{-1, -1, -1}, 3), "");
}

// A later NCCL's eighth algorithm.
TEST(CheapestAlgorithm, WhatIsNotKnownIsNotGuessed) {
  std::array<float, 24> table{};
  table.fill(2.0F);
  table[22] = 1.0F;
  EXPECT_EQ(cheapest_algorithm(table, 3), "other");
}

}  // namespace
}  // namespace meshwright::calibrate
