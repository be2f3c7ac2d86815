// SPDX-License-Identifier: Apache-2.0
#include "calibrate/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "calibrate/measure/subjects.h"
#include "calibrate/sweep.h"

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<MeasuredPoint> of_two_ranks() {
  return planned_points({}, group_shapes({0, 0}), {.memory = gibibytes(8), .budget_seconds = 3.0});
}

// Every point takes `each` seconds of `budget`; how many of each kind were measured.
std::map<BudgetKind, int> measured_kinds(const std::vector<MeasuredPoint>& points, double each,
                                         double seconds) {
  Budget budget(points);
  std::map<BudgetKind, int> counts;
  double used = 0.0;
  for (auto next = budget.next(true); next; next = budget.next(used < seconds)) {
    ++counts[budget_kind(points[*next])];
    used += each;
    budget.done(*next, each, true);
  }
  return counts;
}

// 0.1 s a point, as on a busy machine: 30 points in 3 s. Products have 35 %, all-reduce 20 %,
// kernels and the other collectives 15 % each, messages between two ranks 10 %.
TEST(Budget, EachKindGetsItsShareOfABudgetThatIsTooShort) {
  const auto counts = measured_kinds(of_two_ranks(), 0.1, 3.0);
  EXPECT_NEAR(counts.at(BudgetKind::product), 10.5, 1.5);
  EXPECT_NEAR(counts.at(BudgetKind::all_reduce), 6.0, 1.5);
  EXPECT_NEAR(counts.at(BudgetKind::kernel), 4.5, 1.5);
  EXPECT_NEAR(counts.at(BudgetKind::other_collective), 4.5, 1.5);
  EXPECT_NEAR(counts.at(BudgetKind::point_to_point), 3.0, 1.5);
}

TEST(Budget, AMachineTooSlowForAnythingStillMeasuresEveryKind) {
  const auto counts = measured_kinds(of_two_ranks(), 60.0, 3.0);
  EXPECT_EQ(counts.at(BudgetKind::all_reduce), 4);
  EXPECT_GE(counts.at(BudgetKind::product), 4);
  EXPECT_EQ(counts.at(BudgetKind::kernel), 1);
  EXPECT_EQ(counts.at(BudgetKind::other_collective), 1);
  EXPECT_EQ(counts.at(BudgetKind::point_to_point), 1);
}

TEST(Budget, BothTiersOfLinksAreMeasuredHoweverShortItIs) {
  const auto points = planned_points({}, group_shapes({0, 0, 1, 1}), {.memory = gibibytes(8)});
  Budget budget(points);
  std::map<Tier, int> tiers;
  for (auto next = budget.next(false); next; next = budget.next(false)) {
    if (budget_kind(points[*next]) == BudgetKind::all_reduce) {
      ++tiers[call_of(points[*next].subject)->tier];
    }
    budget.done(*next, 1.0, true);
  }
  EXPECT_EQ(tiers[Tier::intra_node], 4);
  EXPECT_EQ(tiers[Tier::inter_node], 4);
}

TEST(Budget, WhatWasPlannedAndNeverMeasuredIsNamedOnce) {
  const auto points = of_two_ranks();
  EXPECT_THAT(not_measured(points, points), IsEmpty());
  std::vector<MeasuredPoint> some;
  for (const MeasuredPoint& p : points) {
    const auto* collective = p.as<timed::CollectiveCall>();
    const bool left_out = collective && collective->call.collective == Collective::broadcast;
    const auto* gemm = p.as<timed::Gemm>();
    const bool bf16 = gemm && gemm->product.precision == Precision::bf16;
    if (!left_out && !bf16) some.push_back(p);
  }
  EXPECT_THAT(not_measured(points, some),
              ElementsAre("products in bf16", "broadcast inside a node"));
}

TEST(Budget, TheFirstNumberFormatsProductsComeBeforeTheOthers) {
  Workload workload;
  workload.precisions = {Precision::bf16, Precision::fp32};
  const auto points =
      planned_points(workload, {}, {.memory = gibibytes(8), .budget_seconds = 600.0});
  std::size_t last_bf16 = 0, large_fp32 = points.size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto* gemm = points[i].as<timed::Gemm>();
    if (gemm == nullptr) continue;
    const Product& product = gemm->product;
    if (product.precision == Precision::bf16) last_bf16 = i;
    if (product.precision == Precision::fp32 && product.variant.shape.m == 2048) {
      large_fp32 = std::min(large_fp32, i);
    }
  }
  EXPECT_LT(last_bf16, large_fp32);
}

}  // namespace
}  // namespace meshwright::calibrate
