// SPDX-License-Identifier: Apache-2.0
// The search against layouts that expert teams chose (configs/datasets/expert-layouts.json): each
// of theirs is legal and fits, and the default search, which leaves the default headroom free,
// finds nothing that is slower by our own price.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/files/measurements.h"
#include "planner/accuracy/backtest.h"
#include "planner/search/objective.h"
#include "planner/search/search.h"
#include "sim/hardware/placement.h"
#include "sim/layout/short_name.h"
#include "sim/rules/rules.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

const planner::MeasuredSet& expert_layouts() {
  static const planner::MeasuredSet set = app::load_measurements(
      std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/datasets/expert-layouts.json");
  return set;
}

// Largest predicted loss of the default search against an expert's layout, as a share of the step.
constexpr double kMostLoss = 0.02;
TEST(ExpertLayouts, TheDefaultSearchLosesToNone) {
  for (const planner::MeasuredRun& run : expert_layouts().runs) {
    SCOPED_TRACE(run.id);
    const Outcome outcome = estimate(run, run.layout);
    if (const auto* refusal = std::get_if<Infeasible>(&outcome)) {
      ADD_FAILURE() << describe(refusal->violation, run.model, run.job, run.layout,
                                devices_of(run.cluster));
      continue;
    }
    const auto& theirs = std::get<Estimate>(outcome);
    planner::SearchOptions options;
    options.top = 1;
    options.memory_headroom = planner::kDefaultHeadroom;
    const planner::Plan plan = planner::search(run, options);
    ASSERT_FALSE(plan.ranked.empty());
    const Estimate& ours = plan.ranked.front();
    const double loss = ours.step_time / theirs.step_time - 1.0;
    const std::string reported =
        run.step_time ? fmt::format("{:.3f} s", run.step_time->value()) : "no time";
    fmt::print("{}: reported {}, theirs {:.3f} s, ours {:.3f} s ({:+.1f} %) {}\n", run.id, reported,
               theirs.step_time.value(), ours.step_time.value(), 100.0 * loss,
               short_name(ours.layout));
    EXPECT_LE(loss, kMostLoss);
    // Tensor ranks on two nodes: none of these teams ran that.
    EXPECT_NE(place(Group::tensor, ours.layout, run.cluster).tier(), Tier::inter_node);
  }
}

}  // namespace
}  // namespace meshwright
