// SPDX-License-Identifier: Apache-2.0
// The shipped spread of calibrated cores is the one of the runs that its file names.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "planner/accuracy/regime_fit.h"
#include "tests/accuracy/csv_rows.h"
#include "tests/paths.h"

namespace meshwright::planner {
namespace {

constexpr double kRounding = 6e-5;  // the file's four decimals

std::vector<SetErrors> small_cluster_sets() {
  std::map<std::string, SetErrors> sets;
  accuracy::for_each_row(
      std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/datasets/small-cluster-2026-11-23.csv",
      [&](const accuracy::Row& row) {
        SetErrors& set = sets[row.at("set")];
        set.set = set.file = row.at("set");
        set.regime = IntervalRegime::profiled_cores;
        set.errors.push_back(
            std::log(std::stod(row.at("measured_ms")) / std::stod(row.at("predicted_ms"))));
        set.parts.push_back(0.0);
        set.groups.push_back(set.set);
      });
  std::vector<SetErrors> result;
  for (auto& [name, set] : sets) result.push_back(std::move(set));
  return result;
}

TEST(CoresSpread, IsThatOfTheSmallClustersRuns) {
  const auto found = regime_spread(small_cluster_sets());
  ASSERT_TRUE(found.has_value());
  for (const bool experts : {false, true}) {
    const RegimeSpread& shipped = shipped_spread(IntervalRegime::profiled_cores, experts);
    EXPECT_NEAR(shipped.bias, found->bias, kRounding);
    EXPECT_NEAR(shipped.shared, found->shared, kRounding);
    EXPECT_NEAR(shipped.own, found->own, kRounding);
    EXPECT_NEAR(shipped.between_layouts, found->between_layouts, kRounding);
    EXPECT_NEAR(shipped.between_degrees, found->between_degrees, kRounding);
    EXPECT_EQ(shipped.sets, found->sets);
  }
}

// Each set of runs judged by the interval of the six others, pooled over all layouts.
TEST(CoresSpread, HoldsNineOfTenRunsOfSetsThatItWasNotMadeFrom) {
  const std::vector<SetErrors> sets = small_cluster_sets();
  double inside = 0.0, runs = 0.0;
  for (const SetCoverage& coverage : left_out_coverage(sets)) {
    const auto count = static_cast<double>(sets[coverage.set].errors.size());
    inside += coverage.inside * count;
    runs += count;
  }
  EXPECT_EQ(runs, 335);
  EXPECT_GE(inside / runs, 0.85);
  EXPECT_LE(inside / runs, 0.97);
}

}  // namespace
}  // namespace meshwright::planner
