// SPDX-License-Identifier: Apache-2.0
// Predicted against published step times (configs/datasets, each with its citation). Errors have
// their limits in configs/accuracy/published.json, which the test accuracy_gate holds.
#include <gtest/gtest.h>

#include "app/files/measurements.h"
#include "planner/accuracy/backtest.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

planner::Backtest run(const std::string& name) {
  return planner::backtest(app::load_measurements(std::string(MESHWRIGHT_SOURCE_DIR) +
                                                  "/configs/datasets/" + name + ".json"));
}

// tau misses one pair in one group: at m = 128 1F1B-I and ZB-1p lie within 6 % of each other.
TEST(PublishedTables, ZeroBubbles2024FastestScheduleIsNamedInEveryGroup) {
  EXPECT_EQ(run("zero-bubble-2024-tables-4-5").overall.top1_regret_percent_max, 0.0);
}

// The factor on the host's launches (aws-p5, "host") was fitted on these six.
TEST(PublishedTables, AllToAllOverEfaIsNearWhatWasMeasured) {
  const planner::Score score = run("efa-alltoall-2026").overall;
  EXPECT_EQ(score.runs, 6);
  EXPECT_LE(score.mean_ape_percent, 10.0);
  EXPECT_LE(score.max_ape_percent, 20.0);
}

TEST(PublishedTables, EveryRunOfASetWithAResultIsPredictedToFit) {
  for (const char* name :
       {"korthikanti-2022-table-5", "zero-bubble-2024-tables-4-5", "mt-nlg-2022"}) {
    const planner::Backtest found = run(name);
    EXPECT_EQ(found.overall.oom_confusion.ok_oom, 0) << name;
  }
}

}  // namespace
}  // namespace meshwright
