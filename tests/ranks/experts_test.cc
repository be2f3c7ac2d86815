// SPDX-License-Identifier: Apache-2.0
// Models with routed experts under every kind of layout against the same step on one rank.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ranks/some_layouts.h"

namespace meshwright::calibrate {
namespace {

StepOptions real_routing() {
  StepOptions options = kOptions;
  options.moe_router_force_load_balancing = false;
  return options;
}

TEST(Experts, BalancedTokensTakeTheSameStepAsOnOneRank) {
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_same_step(small_moe(), small_job(), l);
  }
}

TEST(Experts, WithCapacityAndBiasesTheyTakeTheSameStepAsOnOneRank) {
  for (const Layout& l : expert_layouts_of(machine().world->size(), kExpertsWithCapacity)) {
    expect_same_step(small_moe_with_capacity(), small_job(), l);
  }
}

// Sinks are cut with the heads and dealt out with exchanged ones; clamps follow expert-tensor
// pieces.
TEST(Experts, SinksAndClampsTakeTheSameStepAsOnOneRank) {
  const int ranks = machine().world->size();
  for (const Layout& l : expert_layouts_of(ranks)) {
    expect_same_step(small_gpt_oss(), small_job(), l);
  }
  Model dense = small_window();
  dense.attention_sinks = true;
  for (const Layout& l : context_layouts_of(ranks)) expect_same_step(dense, small_job(), l);
  for (const Layout& l : sharded_layouts_of(ranks)) expect_same_step(dense, small_job(), l);
}

// Each rank's tokens go wherever the router sends them: all sizes differ.
TEST(Experts, RoutedTokensTakeTheSameStepAsOnOneRank) {
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_same_step(small_moe(), small_job(), l, real_routing());
  }
}

// Two of four groups, in which each token's two experts lie.
TEST(Experts, RoutedTokensOfGroupsTakeTheSameStepAsOnOneRank) {
  Model m = small_moe();
  m.moe->moe_router_num_groups = 4;
  m.moe->moe_router_group_topk = 2;
  for (const Layout& l : expert_layouts_of(machine().world->size())) {
    expect_same_step(m, small_job(), l, real_routing());
  }
}

// All places that could be needed are there, so nothing is dropped wherever tokens go.
TEST(Experts, RoutedTokensWithPlacesForAllTakeTheSameStepAsOnOneRank) {
  for (const Layout& l : expert_layouts_of(machine().world->size(), kExpertsWithCapacity)) {
    expect_same_step(small_moe_with_capacity(), small_job(), l, real_routing());
  }
}

}  // namespace
}  // namespace meshwright::calibrate
