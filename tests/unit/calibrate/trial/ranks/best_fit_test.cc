// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/best_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <stdexcept>

namespace meshwright::calibrate {
namespace {

constexpr std::size_t kUnit = BestFit::kAlignment;

// Two chunks of 8 and 4 units of the host's memory, which nothing reads or writes.
class BestFitTest : public testing::Test {
 protected:
  BestFitTest() {
    pool.add_chunk(large.data(), large.size());
    pool.add_chunk(small.data(), small.size());
  }

  std::array<std::byte, 8 * kUnit> large{};
  std::array<std::byte, 4 * kUnit> small{};
  BestFit pool;
};

TEST_F(BestFitTest, ARequestTakesTheSmallestPieceThatHoldsIt) {
  EXPECT_EQ(pool.take(3 * kUnit), small.data());
  EXPECT_EQ(pool.take(2 * kUnit), large.data());  // the small chunk has one unit left
  EXPECT_EQ(pool.take(1), small.data() + 3 * kUnit);
  EXPECT_EQ(pool.take(7 * kUnit), nullptr);
  EXPECT_EQ(pool.take(6 * kUnit), large.data() + 2 * kUnit);
  EXPECT_EQ(pool.take(0), nullptr);  // nothing, too, takes an address of its own
}

TEST_F(BestFitTest, NeighboursThatAreGivenBackAreOnePieceAgain) {
  std::byte* a = pool.take(5 * kUnit);
  std::byte* b = pool.take(2 * kUnit);  // three units are left there, four in the other chunk
  std::byte* c = pool.take(3 * kUnit);
  EXPECT_EQ(a, large.data());
  EXPECT_EQ(b, large.data() + 5 * kUnit);
  EXPECT_EQ(c, small.data());
  pool.give(a);
  EXPECT_EQ(pool.take(6 * kUnit), nullptr);
  pool.give(b);  // between two free pieces: 5, 2 and 1 units
  EXPECT_EQ(pool.take(8 * kUnit), large.data());
}

TEST_F(BestFitTest, AChunkIsDroppedOnceNoBlockOfItIsTaken) {
  std::byte* a = pool.take(5 * kUnit);
  EXPECT_EQ(pool.drop_free_chunks(), std::vector<std::byte*>{small.data()});
  EXPECT_EQ(pool.take(4 * kUnit), nullptr);
  pool.give(a);
  EXPECT_EQ(pool.drop_free_chunks(), std::vector<std::byte*>{large.data()});
  EXPECT_EQ(pool.take(1), nullptr);
}

TEST_F(BestFitTest, ABlockIsGivenBackOnce) {
  std::byte* a = pool.take(kUnit);
  pool.give(a);
  EXPECT_THROW(pool.give(a), std::logic_error);
  EXPECT_THROW(pool.give(large.data() + 1), std::logic_error);
}

// Blocks never overlap, and all of them given back are two whole chunks again.
TEST_F(BestFitTest, ManyRequestsNeitherOverlapNorLeavePieces) {
  std::map<std::byte*, std::size_t> taken;
  std::uint32_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    random = random * 1664525U + 1013904223U;  // Numerical Recipes, section 7.1
    const std::size_t size = (random >> 16U) % (3 * kUnit);
    if ((random >> 30U) % 2 == 0 && !taken.empty()) {
      pool.give(taken.begin()->first);
      taken.erase(taken.begin());
      continue;
    }
    std::byte* block = pool.take(size);
    if (block == nullptr) continue;
    const auto [at, is_new] = taken.emplace(block, BestFit::rounded(size));
    ASSERT_TRUE(is_new);
    if (at != taken.begin()) {
      const auto before = std::prev(at);
      ASSERT_LE(before->first + before->second, block);
    }
    if (std::next(at) != taken.end()) {
      ASSERT_LE(block + at->second, std::next(at)->first);
    }
  }
  for (const auto& [block, size] : taken) pool.give(block);
  EXPECT_EQ(pool.drop_free_chunks().size(), 2U);
}

}  // namespace
}  // namespace meshwright::calibrate
