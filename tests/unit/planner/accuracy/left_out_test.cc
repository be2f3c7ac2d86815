// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/left_out.h"

#include <gtest/gtest.h>

#include "sim/hardware/interval_regime.h"

namespace meshwright::planner {
namespace {

MeasuredSet one_run(const Framework& framework) {
  MeasuredRun run;
  run.cluster.name = "here";
  run.cluster.framework = framework;
  run.cluster.fit.framework = framework.name;
  MeasuredSet set;
  set.runs = {run};
  return set;
}

Framework fitted_on(std::vector<std::string> sets) {
  Framework framework;
  framework.name = "software-2030";
  framework.gemm_time_factor = 1.2;
  framework.collective_time_factor = 1.5;
  framework.fit.sets = std::move(sets);
  framework.fit.terms = {"gemm_time_factor"};
  return framework;
}

const ClustersOfSets kClusters{{"mine", {"here"}}, {"theirs", {"there"}}};

TEST(WithoutClusters, TakesAwayWhatOnlyThisClusterTaught) {
  const Cluster found = without_clusters(one_run(fitted_on({"mine"})), kClusters).runs[0].cluster;
  EXPECT_EQ(found.framework.gemm_time_factor, 1.0);
  EXPECT_EQ(found.framework.collective_time_factor, 1.5);  // no fit of runs: a fact
  EXPECT_TRUE(found.framework_assumed);
  EXPECT_TRUE(found.fit.framework.empty());
}

TEST(WithoutClusters, LeavesWhatOtherClustersTaught) {
  const Cluster found =
      without_clusters(one_run(fitted_on({"mine", "theirs"})), kClusters).runs[0].cluster;
  EXPECT_EQ(found.framework.gemm_time_factor, 1.2);
  EXPECT_FALSE(found.framework_assumed);
  EXPECT_TRUE(found.fit.framework.empty());
}

TEST(WithoutFramework, LeavesNothingOfIt) {
  EXPECT_EQ(without_framework(one_run(fitted_on({"mine"}))).runs[0].cluster.framework, Framework{});
}

Device chip(const std::string& architecture, double sustained, double clock) {
  Device device;
  device.architecture = architecture;
  device.sustained_clock_fraction = clock;
  GemmModel gemm;
  gemm.peak = teraflops_per_second(100);
  gemm.sustained_fraction = sustained;
  gemm.provenance = Provenance::fitted;
  device.gemm = {gemm};
  return device;
}

// Old: 0.5 and 0.7, median 0.6; older: 0.8. Each architecture weighs the same: 0.7. The chip's own
// family does not count, nor a chip that nobody timed.
TEST(WithDatasheetRates, TakesTheOtherArchitectures) {
  const Device stated = chip("new", 0.9, 0.99);
  Device untimed = chip("guessed", 0.1, 0.1);
  untimed.gemm[0].provenance = Provenance::assumed;
  const std::vector<Device> others{chip("old", 0.5, 0.8), chip("old", 0.7, 1.0),
                                   chip("older", 0.8, 0.5), chip("new", 0.95, 0.1), untimed};
  const Device found = with_datasheet_rates(stated, others);
  EXPECT_NEAR(found.gemm[0].sustained_fraction, 0.7, 1e-12);
  EXPECT_NEAR(found.sustained_clock_fraction, 0.7, 1e-12);  // (0.9 + 0.5) / 2
  EXPECT_EQ(found.gemm[0].peak, stated.gemm[0].peak);
  EXPECT_FALSE(chip_is_known(found));
}

}  // namespace
}  // namespace meshwright::planner
