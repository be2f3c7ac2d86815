// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_place.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

TEST(RankPlace, AProcessStartedByHandIsNoRank) {
  EXPECT_FALSE(find_rank_place({}));
  EXPECT_FALSE(find_rank_place({{"PATH", "/usr/bin"}, {"OMPI_COMM_WORLD_RANK", ""}}));
}

TEST(RankPlace, OpenMpiSaysRankSizeAndLocalRank) {
  const auto place = find_rank_place({{"OMPI_COMM_WORLD_RANK", "5"},
                                      {"OMPI_COMM_WORLD_SIZE", "8"},
                                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                      {"PMIX_RANK", "5"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->size, 8);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->launcher, "Open MPI");
}

TEST(RankPlace, MpichSaysItInPmiVariables) {
  const auto place =
      find_rank_place({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "3"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->size, 4);
  EXPECT_EQ(place->launcher, "MPICH");
}

TEST(RankPlace, TorchrunSaysItBesideTheAddressOfRankZero) {
  Environment environment{{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "1"}};
  EXPECT_FALSE(find_rank_place(environment));  // RANK may be anybody's
  environment["MASTER_ADDR"] = "node-0";
  const auto place = find_rank_place(environment);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 9);
  EXPECT_EQ(place->size, 16);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->launcher, kTorchrun);
}

// 8 GPUs a node: rank 9 of a launcher that does not number a node's ranks takes GPU 1.
TEST(RankPlace, SlurmsLocalIdStandsInForAMissingLocalRank) {
  const auto place =
      find_rank_place({{"PMI_RANK", "9"}, {"PMI_SIZE", "16"}, {"SLURM_LOCALID", "1"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->local_rank, 1);
}

TEST(RankPlace, WithoutALocalRankTheRankStandsIn) {
  const auto place = find_rank_place({{"PMIX_RANK", "2"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->local_rank, 2);
  EXPECT_EQ(place->size, 0);
}

TEST(RankPlace, ATaskOfASlurmStepIsARank) {
  const auto place = find_rank_place({{"SLURM_PROCID", "9"},
                                      {"SLURM_STEP_NUM_TASKS", "16"},
                                      {"SLURM_LOCALID", "1"},
                                      {"SLURM_STEP_ID", "0"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 9);
  EXPECT_EQ(place->size, 16);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_TRUE(
      find_rank_place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}}));
}

// sbatch sets SLURM_PROCID=0 and SLURM_NTASKS for the script itself, which starts the ranks later.
TEST(RankPlace, ASlurmBatchScriptIsNoRank) {
  EXPECT_FALSE(find_rank_place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}));
  EXPECT_FALSE(find_rank_place(
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
}

TEST(RankPlace, ARankThatWeStartAloneIsOneOfOne) {
  const auto place = find_rank_place({{"MESHWRIGHT_RANK", "0"},
                                      {"MESHWRIGHT_RANKS", "1"},
                                      {"MESHWRIGHT_LOCAL_RANK", "0"},
                                      {"SLURM_PROCID", "3"},
                                      {"SLURM_STEP_NUM_TASKS", "8"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->size, 1);
  EXPECT_EQ(place->starter(), Starter::mpi);
}

}  // namespace
}  // namespace meshwright::calibrate
