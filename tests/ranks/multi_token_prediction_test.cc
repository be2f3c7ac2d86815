// SPDX-License-Identifier: Apache-2.0
// Multi-token prediction on all ranks of the test: the same step as one rank, and what it counts.
#include <gtest/gtest.h>

#include "tests/ranks/account.h"
#include "tests/ranks/some_layouts.h"

namespace meshwright::calibrate {
namespace {

// With norms of queries and keys (GLM-4.5), with latent attention, and with a tied head, whose
// matrix then has three uses.
TEST(TrialRanks, MultiTokenPredictionTakesTheSameStepAsOneRank) {
  for (const Layout& l : prediction_layouts_of(machine().world->size())) {
    expect_same_step(small_mtp(), small_job(), l);
    const bool plain = l.recompute_granularity == RecomputeGranularity::none &&
                       l.micro_batch_size == 1 && l.zero_stage == 0;
    if (l.pipeline_layout || !plain) continue;
    expect_same_step(predicting(small_qwen()), small_job(), l);
    expect_same_step(predicting(small_mla()), small_job(), l);
    expect_same_step(predicting(small_multi_query()), small_job(), l);
  }
}

TEST(TrialRanks, MultiTokenPredictionOfExpertsTakesTheSameStepAsOneRank) {
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_same_step(predicting(small_moe()), small_job(), l);
  }
}

TEST(TrialRanks, MultiTokenPredictionInSplitBackwardPassesTakesTheSameStepAsOneRank) {
  for (const Layout& l : split_layouts_of(machine().world->size())) {
    expect_same_step(small_mtp(), small_job(), l);
    expect_same_step(predicting(small_multi_query()), small_job(), l);
  }
}

TEST(TrialRanks, MultiTokenPredictionWithShardedStatesTakesTheSameStepAsOneRank) {
  for (const Layout& l : sharded_layouts_of(machine().world->size())) {
    if (!recomputes_in_groups(l)) expect_same_step(small_mtp(), small_job(), l);
  }
  for (const Layout& l : offloading_layouts_of(machine().world->size())) {
    expect_same_step(small_mtp(), small_job(), l);
  }
}

// A chunk's last positions look a token up that is the first of another rank's.
TEST(TrialRanks, ContextRanksOfMultiTokenPredictionTakeTheSameStepAsOneRank) {
  for (const Layout& l : context_layouts_of(machine().world->size())) {
    Model four_groups = small_mtp();
    four_groups.num_query_groups = 4;
    expect_same_step(four_groups, small_job(), l);
  }
}

TEST(TrialAccount, CountedTransfersOfMultiTokenPredictionAreTheLedgers) {
  for (const Layout& l : prediction_layouts_of(machine().world->size())) {
    expect_counted(small_mtp(), l);
    expect_products(small_mtp(), l);
    if (l.pipeline_layout) continue;
    for (const Model& m : {small_qwen(), small_mla(), small_multi_query()}) {
      expect_counted(predicting(m), l);
    }
  }
  for (const Layout& l : split_layouts_of(machine().world->size())) {
    expect_counted(small_mtp(), l);
    expect_products(small_mtp(), l);
  }
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_counted(predicting(small_moe()), l);
    expect_products(predicting(small_moe()), l);
  }
  for (const Layout& l : context_layouts_of(machine().world->size())) {
    expect_counted(predicting(small_mla()), l);
  }
  for (const Layout& l : sharded_layouts_of(machine().world->size())) {
    if (!recomputes_in_groups(l)) expect_counted(small_mtp(), l);
  }
}

TEST(TrialAccount, MemoryOfMultiTokenPredictionIsWhatTheRunTakes) {
  for (const Layout& l : prediction_layouts_of(machine().world->size())) {
    expect_memory(small_mtp(), l, {1.02, 1.1});
  }
  for (const Layout& l : split_layouts_of(machine().world->size())) {
    expect_memory(small_mtp(), l, {1.02, 1.1});
  }
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_memory(predicting(small_moe()), l, band_of_experts(l));
  }
}

}  // namespace
}  // namespace meshwright::calibrate
