// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/socket_barrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "sim/base/error.h"
#include "tests/unit/calibrate/backends/nccl/ranks_as_threads.h"

namespace meshwright::calibrate {
namespace {

constexpr std::chrono::seconds kPatience{10};

constexpr char kLoopback[] = "127.0.0.1";

// 2^r ranks are reached after r rounds.
TEST(SocketBarrier, TakesAsManyRoundsAsTheLogarithmOfTheRanks) {
  EXPECT_EQ(barrier_rounds(1), 0);
  EXPECT_EQ(barrier_rounds(2), 1);
  EXPECT_EQ(barrier_rounds(5), 3);
  EXPECT_EQ(barrier_rounds(16), 4);
  EXPECT_EQ(barrier_rounds(1024), 10);
}

// Every rank counts itself before each barrier: who leaves the i-th has to see all of them i times.
void expect_nobody_leaves_early(int size, const std::function<void(SocketRanks&, int)>& barrier) {
  constexpr int kTimes = 50;
  std::atomic<int> came{0};
  std::atomic<bool> early{false};
  on_ranks(size, [&](SocketRanks& ranks) {
    for (int i = 1; i <= kTimes; ++i) {
      ++came;
      barrier(ranks, i);
      if (came < i * size) early = true;
    }
  });
  EXPECT_FALSE(early);
  EXPECT_EQ(came, kTimes * size);
}

TEST(SocketBarrier, NobodyLeavesBeforeAllHaveCome) {
  for (const int size : {2, 5, 16}) {
    std::atomic<int> connected{0};
    thread_local std::unique_ptr<SocketBarrier> own;
    expect_nobody_leaves_early(size, [&](SocketRanks& ranks, int time) {
      if (time == 1) own = SocketBarrier::connect(ranks, kLoopback, kLoopback, kPatience);
      ASSERT_NE(own, nullptr);
      if (time == 1) ++connected;
      own->wait();
    });
    EXPECT_EQ(connected, size);
  }
}

TEST(SocketBarrier, TheBarrierOfManyRanksIsOne) {
  expect_nobody_leaves_early(9, [](SocketRanks& ranks, int) {
    ranks.barrier();
    EXPECT_TRUE(ranks.has_direct_barrier());
  });
}

// One rank cannot say where it is: none has the barrier, and all go through rank 0.
TEST(SocketBarrier, WhereOneCannotBeReachedNobodyHasIt) {
  std::atomic<int> without{0};
  on_ranks(6, [&](SocketRanks& ranks) {
    const std::string address = ranks.rank() == 3 ? "" : kLoopback;
    if (SocketBarrier::connect(ranks, address, kLoopback, std::chrono::seconds(1)) == nullptr) {
      ++without;
    }
  });
  EXPECT_EQ(without, 6);
}

TEST(SocketBarrier, ARankThatIsGoneEndsIt) {
  std::atomic<int> told{0};
  on_ranks(6, [&](SocketRanks& ranks) {
    const auto barrier = SocketBarrier::connect(ranks, kLoopback, kLoopback, kPatience);
    ASSERT_NE(barrier, nullptr);
    if (ranks.rank() == 2) return;
    try {
      barrier->wait();
    } catch (const SystemError&) {
      ++told;
    }
  });
  EXPECT_GE(told, 1);
}

}  // namespace
}  // namespace meshwright::calibrate
