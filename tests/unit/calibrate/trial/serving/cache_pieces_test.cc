// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/cache_pieces.h"

#include <gtest/gtest.h>

#include "calibrate/trial/serving/pool_sizes.h"

namespace meshwright::calibrate {
namespace {

using Pieces = std::vector<CachePiece>;

TEST(CachePieces, RanksOfOneKindSendEachOtherAll) {
  EXPECT_EQ(cache_pieces(4, 2, 2), (Pieces{{0, 0, 0, 0, 2}, {1, 1, 0, 0, 2}}));
}

// Four groups: two ranks have 0, 1 and 2, 3; four ranks have one each.
TEST(CachePieces, MoreOrFewerRanksCutOrJoinTheGroups) {
  EXPECT_EQ(cache_pieces(4, 2, 4),
            (Pieces{{0, 0, 0, 0, 1}, {0, 1, 1, 0, 1}, {1, 2, 0, 0, 1}, {1, 3, 1, 0, 1}}));
  EXPECT_EQ(cache_pieces(4, 4, 1),
            (Pieces{{0, 0, 0, 0, 1}, {1, 0, 0, 1, 1}, {2, 0, 0, 2, 1}, {3, 0, 0, 3, 1}}));
}

// Two groups on four ranks: 0 and 1 have the first one, 2 and 3 the second one.
TEST(CachePieces, RepeatedGroupsAreTakenInTurn) {
  EXPECT_EQ(cache_pieces(2, 4, 2), (Pieces{{0, 0, 0, 0, 1}, {3, 1, 0, 0, 1}}));
  EXPECT_EQ(cache_pieces(2, 1, 4),
            (Pieces{{0, 0, 0, 0, 1}, {0, 1, 0, 0, 1}, {0, 2, 1, 0, 1}, {0, 3, 1, 0, 1}}));
}

// One latent, whole on every rank.
TEST(CachePieces, LatentsComeWholeFromOneRank) {
  EXPECT_EQ(cache_pieces(1, 2, 2), (Pieces{{0, 0, 0, 0, 1}, {1, 1, 0, 0, 1}}));
  EXPECT_EQ(cache_pieces(1, 4, 1), (Pieces{{0, 0, 0, 0, 1}}));
}

// Two replicas of two ranks, then three of one.
TEST(PoolSizes, PrefillRanksComeFirst) {
  const PoolSizes sizes{2, 2, 3, 1};
  EXPECT_EQ(sizes.ranks(), 7);
  EXPECT_EQ(sizes.replicas(), 5);
  EXPECT_EQ(sizes.place(3), (PoolPlace{true, 1, 1}));
  EXPECT_EQ(sizes.place(4), (PoolPlace{false, 0, 0}));
  EXPECT_EQ(sizes.place(6), (PoolPlace{false, 2, 0}));
  EXPECT_EQ(sizes.first_decode(2), 6);
}

}  // namespace
}  // namespace meshwright::calibrate
