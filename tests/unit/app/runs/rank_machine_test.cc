// SPDX-License-Identifier: Apache-2.0
#include "app/runs/rank_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Plain srun with an MPI that it does not know: every task is a world of its own.
TEST(RankMachine, TasksThatDoNotKnowEachOtherAreNoJob) {
  const calibrate::RankPlace place{.rank = 3, .size = 8, .local_rank = 3, .launcher = "srun"};
  EXPECT_EQ(wrong_world(place, 8), "");
  EXPECT_THAT(wrong_world(place, 1), AllOf(HasSubstr("srun started 8 ranks, but MPI sees 1"),
                                           HasSubstr("srun --mpi=pmix")));
}

TEST(RankMachine, ALauncherThatDoesNotSayHowManyIsBelieved) {
  EXPECT_EQ(wrong_world({.rank = 0, .size = 0, .local_rank = 0, .launcher = "PMIx"}, 4), "");
}

}  // namespace
}  // namespace meshwright::app
