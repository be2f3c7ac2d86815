// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/trial/ranks/out_of_memory.h"
#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

// Sizes, in the order in which they were allocated of the device.
class CountingCompute : public IdleCompute {
 public:
  void* allocate(std::size_t size) override {
    allocated.push_back(size);
    return IdleCompute::allocate(size);
  }
  void release(void* pointer) override {
    ++released;
    IdleCompute::release(pointer);
  }
  void* allocate_host(std::size_t size) override {
    ++of_host;
    return IdleCompute::allocate_host(size);
  }
  std::vector<std::size_t> allocated;
  int released = 0, of_host = 0;
};

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

// 8 MiB that were given back hold 5 and 3 MiB: nothing is allocated again.
TEST(ArenaTest, ABlockThatIsFreeServesSmallerOnes) {
  CountingCompute compute;
  Arena arena(compute);
  arena.give(arena.take(8 * kMebibyte), 8 * kMebibyte);
  void* a = arena.take(5 * kMebibyte);
  void* b = arena.take(3 * kMebibyte);
  EXPECT_EQ(compute.allocated, std::vector<std::size_t>{8 * kMebibyte});
  EXPECT_EQ(arena.used(), mebibytes(8));
  EXPECT_EQ(arena.peak(), mebibytes(8));
  arena.give(a, 5 * kMebibyte);
  arena.give(b, 3 * kMebibyte);
  EXPECT_EQ(arena.take(8 * kMebibyte), a);
  EXPECT_EQ(compute.allocated.size(), 1U);
}

// 6 MiB that are free and too small go back to the device before a limit of 10 counts as reached.
TEST(ArenaTest, FreeChunksGoBackBeforeTheDeviceIsFull) {
  CountingCompute compute;
  Arena arena(compute, false, mebibytes(10));
  arena.give(arena.take(6 * kMebibyte), 6 * kMebibyte);
  (void)arena.take(9 * kMebibyte);
  EXPECT_EQ(compute.released, 1);
  EXPECT_EQ(compute.of_host, 0);
  EXPECT_EQ(arena.out_of_memory(), "");
}

// Another 2 MiB beside 9 are of the host's memory, and the arena says so.
TEST(ArenaTest, AFullDeviceIsSaidAndTheRankGoesOnInTheHostsMemory) {
  CountingCompute compute;
  Arena arena(compute, false, mebibytes(10));
  (void)arena.take(9 * kMebibyte);
  EXPECT_NE(arena.take(2 * kMebibyte), nullptr);
  EXPECT_EQ(compute.of_host, 1);
  EXPECT_THAT(arena.out_of_memory(), HasSubstr("0.009 GiB in use, 0.002 GiB asked for"));
  Alone ranks;
  EXPECT_THAT(out_of_memory_of_any(ranks, arena.out_of_memory()),
              HasSubstr("out of memory on rank 0: 0.009 GiB in use"));
  EXPECT_EQ(out_of_memory_of_any(ranks, ""), "");
}

// An operand is held while the product that reads it waits.
TEST(ArenaTest, AHeldBlockIsHandedOutAgainOnlyWhenItIsLetGo) {
  CountingCompute compute;
  Arena arena(compute);
  auto* block = static_cast<std::byte*>(arena.take(2 * kMebibyte));
  arena.hold(block + kMebibyte);
  arena.give(block, 2 * kMebibyte);
  EXPECT_NE(arena.take(2 * kMebibyte), block);
  arena.let_go(block + kMebibyte);
  EXPECT_EQ(arena.take(2 * kMebibyte), block);
}

}  // namespace
}  // namespace meshwright::calibrate
