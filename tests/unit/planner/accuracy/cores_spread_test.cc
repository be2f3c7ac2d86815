// SPDX-License-Identifier: Apache-2.0
// The shipped spread of calibrated cores is the one of the runs that its file names.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "planner/accuracy/regime_fit.h"
#include "sim/step/step_interval.h"
#include "tests/accuracy/csv_rows.h"
#include "tests/paths.h"

namespace meshwright::planner {
namespace {

constexpr std::array kFitted{"small-cluster-2026-11-24.csv", "small-cluster-2026-11-26.csv"};
constexpr double kRounding = 6e-5;  // the file's four decimals

// The set's name ends with the run or with the host.
std::string host_of(const std::string& set) {
  for (const char* host : {"EPYC B", "EPYC C", "EPYC", "Xeon"}) {
    if (set.find(host) != std::string::npos) return host;
  }
  return "";
}

// `together`: what is left out at once.
enum class LeftOut { set, host };

std::vector<SetErrors> small_cluster_sets(LeftOut together) {
  std::map<std::string, SetErrors> sets;
  for (const char* file : kFitted) {
    accuracy::for_each_row(std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/datasets/" + file,
                           [&](const accuracy::Row& row) {
                             SetErrors& set = sets[row.at("set")];
                             set.set = row.at("set");
                             set.file = together == LeftOut::host ? host_of(set.set) : set.set;
                             set.regime = IntervalRegime::profiled_cores;
                             set.errors.push_back(std::log(std::stod(row.at("measured_ms")) /
                                                           std::stod(row.at("predicted_ms"))));
                             set.parts.push_back(0.0);
                             set.groups.push_back(set.set);
                           });
  }
  std::vector<SetErrors> result;
  for (auto& [name, set] : sets) result.push_back(std::move(set));
  return result;
}

TEST(CoresSpread, IsThatOfTheSmallClustersRuns) {
  const auto found = regime_spread(small_cluster_sets(LeftOut::set));
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

// Share of the layouts inside, each judged by the interval of what is not left out with it.
double share_inside(LeftOut together) {
  const std::vector<SetErrors> sets = small_cluster_sets(together);
  double inside = 0.0, runs = 0.0;
  for (const SetCoverage& coverage : left_out_coverage(sets)) {
    const auto count = static_cast<double>(sets[coverage.set].errors.size());
    inside += coverage.inside * count;
    runs += count;
  }
  EXPECT_EQ(runs, 681);
  return inside / runs;
}

TEST(CoresSpread, HoldsNineOfTenRunsOfSetsThatItWasNotMadeFrom) {
  EXPECT_GE(share_inside(LeftOut::set), 0.85);
  EXPECT_LE(share_inside(LeftOut::set), 0.97);
}

// 573 of 681: less than nine of ten, since four hosts are few. The spread of a profile's own
// passes, which these files do not have, would be added.
TEST(CoresSpread, HoldsFewerOfAHostThatItWasNotMadeFrom) {
  EXPECT_NEAR(share_inside(LeftOut::host), 573.0 / 681.0, 2.0 / 681.0);
}

// On a host that did not move while it was calibrated.
TEST(CoresSpread, IsNoWiderThanAFifthOfTheStep) {
  const StepInterval found =
      step_interval(seconds(1), shipped_spread(IntervalRegime::profiled_cores, false));
  EXPECT_GE(found.low.value(), 0.8);
  EXPECT_LE(found.high.value(), 1.2);
}

}  // namespace
}  // namespace meshwright::planner
