// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/questions/explanation.h"
#include "planner/questions/outside_space.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Layout sixteen_ranks() {
  Layout layout;
  layout.tensor_parallel_size = 4;
  layout.data_parallel_size = 4;
  layout.sequence_parallel = true;
  return layout;
}

class Attribution : public testing::Test {
 protected:
  Seconds step(const Layout& layout) {
    return evaluate(table, layout, MemoryLimit::reported).step_time;
  }
  const Scenario scenario{small_model(), small_cluster(2, 80), small_job()};
  CostTable table{scenario};
};

// Two switches a and b that both layouts on the way allow: two orders. a's effect is the mean of
// f(a) - f() and f(a b) - f(b).
TEST_F(Attribution, AnEffectIsTheMeanOverBothOrders) {
  const Layout plain = sixteen_ranks();
  Layout a = plain;
  a.tp_comm_overlap = true;
  Layout b = plain;
  b.micro_batch_size = 2;
  Layout both = a;
  both.micro_batch_size = 2;
  const auto effects = attribution(table, both, plain);
  ASSERT_THAT(effects, SizeIs(2));
  for (const SwitchEffect& effect : effects) {
    ASSERT_THAT(effect.fields, SizeIs(1));
    const bool overlap = effect.fields[0].name == "tp_comm_overlap";
    const Seconds first = overlap ? step(a) - step(plain) : step(b) - step(plain);
    const Seconds last = overlap ? step(both) - step(b) : step(both) - step(a);
    EXPECT_NEAR(effect.time.value(), ((first + last) * 0.5).value(), 1e-12);
  }
}

TEST_F(Attribution, EffectsAndTheirTermsAddUpToTheDifference) {
  Layout other = sixteen_ranks();
  other.tensor_parallel_size = 2;
  other.pipeline_parallel_size = 2;
  other.micro_batch_size = 2;
  other.zero_stage = 1;
  other.recompute_granularity = RecomputeGranularity::full;
  Seconds sum;
  for (const SwitchEffect& effect : attribution(table, other, sixteen_ranks())) {
    sum += effect.time;
    Seconds terms;
    for (const Seconds term : effect.terms) terms += term;
    EXPECT_NEAR(terms.value(), effect.time.value(), 1e-12);
  }
  EXPECT_NEAR(sum.value(), (step(other) - step(sixteen_ranks())).value(), 1e-12);
}

// tp and pp trade places; dp stays. No layout with one of the two alone has 16 ranks.
TEST_F(Attribution, SizesWhoseProductStaysAreOneSwitch) {
  Layout other = sixteen_ranks();
  other.tensor_parallel_size = 2;
  other.pipeline_parallel_size = 2;
  const auto effects = attribution(table, other, sixteen_ranks());
  ASSERT_THAT(effects, SizeIs(1));
  EXPECT_EQ(name_of(effects[0]), "tp 2 against 4, pp 2 against 1");
}

// Without sequence parallelism its overlap is not legal: of the two orders one is left.
TEST_F(Attribution, OrdersOverIllegalLayoutsDoNotCount) {
  Layout with = sixteen_ranks();
  with.tp_comm_overlap = true;
  Layout without = sixteen_ranks();
  without.sequence_parallel = false;
  for (const SwitchEffect& effect : attribution(table, with, without)) {
    const bool overlap = effect.fields[0].name == "tp_comm_overlap";
    const Seconds expected =
        overlap ? step(with) - step(sixteen_ranks()) : step(sixteen_ranks()) - step(without);
    EXPECT_NEAR(effect.time.value(), expected.value(), 1e-12);
  }
}

TEST_F(Attribution, OfALayoutWithItselfIsEmpty) {
  EXPECT_THAT(attribution(table, sixteen_ranks(), sixteen_ranks()), IsEmpty());
}

TEST_F(Attribution, WhatAChoiceIsWorthIsItsPriceUndone) {
  Layout layout = sixteen_ranks();
  layout.recompute_granularity = RecomputeGranularity::full;
  const auto effects = undone(table, layout);
  ASSERT_THAT(effects, SizeIs(2));  // full recompute, sequence parallelism
  for (const SwitchEffect& effect : effects) {
    if (effect.fields[0].name != "recompute_granularity") continue;
    EXPECT_NEAR(effect.time.value(), (step(layout) - step(sixteen_ranks())).value(), 1e-12);
    EXPECT_LT(effect.memory.value(), 0.0);
  }
}

TEST_F(Attribution, TheCauseOfATermIsTheSwitchThatMovesIt) {
  Plan plan;
  plan.model = small_model();
  plan.cluster = small_cluster(2, 80);
  plan.job = small_job();
  Layout overlapped = sixteen_ranks();
  overlapped.tp_comm_overlap = true;
  overlapped.zero_stage = 1;
  const auto priced = [&](const Layout& layout) {
    return std::get<Estimate>(estimate(table, layout));
  };
  const Explanation e = explanation(plan, {}, priced(overlapped), priced(sixteen_ranks()));
  for (const TermDifference& term : e.terms) {
    if (term.kind != TermKind::tensor_parallel_communication) continue;
    EXPECT_EQ(term.causes, "tp_comm_overlap on against off");
  }
  EXPECT_THAT(explanation_text(e, "rank 1"), HasSubstr("Effect of each switch"));
}

TEST(OutsideSpace, NamesTheAxesThatKeepALayoutOut) {
  const Scenario scenario{small_model(), small_cluster(2, 80), small_job()};
  Layout layout = sixteen_ranks();
  layout.overlap_grad_reduce = true;
  EXPECT_THAT(outside_space(scenario, {}, layout), IsEmpty());
  layout.cpu_offloading_num_layers = 3;
  SearchSpace space;
  space[&Layout::tensor_parallel_size] = {1, 2};
  const auto outside = outside_space(scenario, space, layout);
  ASSERT_THAT(outside, SizeIs(2));
  EXPECT_EQ(outside_text(outside),
            "It is outside the searched space: --tp 4 (searched: 1, 2), --offload-layers 3 "
            "(searched: 0).\n");
}

}  // namespace
}  // namespace meshwright::planner
