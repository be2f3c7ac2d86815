// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/dispatch_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/measure/deepep.h"
#include "calibrate/profile/profile.h"
#include "sim/serving/operator_time.h"

namespace meshwright::calibrate {
namespace {

Cluster two_nodes() {
  Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.num_nodes = 2;
  cluster.intra_node.bandwidth = gigabytes_per_second(500);
  cluster.intra_node.bandwidth_fraction = 0.8;
  cluster.inter_node.bandwidth = gigabytes_per_second(50);
  cluster.inter_node.bandwidth_fraction = 0.8;
  return cluster;
}

MeasuredPoint point(const std::string& algorithm, int nodes, double size, double time) {
  MeasuredPoint p;
  p.subject = timed::CollectiveCall{{.collective = Collective::all_to_all,
                                     .tier = nodes == 1 ? Tier::intra_node : Tier::inter_node,
                                     .group_size = 8 * nodes,
                                     .ranks_per_node = 8,
                                     .groups_per_node = 1,
                                     .algorithm = algorithm}};
  p.amount = bytes(size);
  p.measurement.summary.median = seconds(time);
  p.measurement.summary.count = 1;
  return p;
}

// Of 320 MB in 1 ms 7/8 cross a link of 500 x 0.8 GB/s: 280 / 400. Between two nodes half of 40 MB
// crosses a NIC of 50 x 0.8 GB/s in 1 ms: 20 / 40.
TEST(DispatchFit, SharesAreOfWhatNcclReaches) {
  Cluster cluster = two_nodes();
  std::vector<Fit> fits;
  fit_dispatch(
      cluster,
      {point("DeepEP dispatch bf16", 1, 320e6, 1e-3), point("DeepEP combine bf16", 2, 40e6, 1e-3),
       point(std::string(kDeepEpDispatchLowLatency), 1, 1e3, 1e-3)},
      fits);
  EXPECT_NEAR(cluster.intra_node.deepep_fraction, 0.7, 1e-9);
  EXPECT_NEAR(cluster.inter_node.deepep_fraction, 0.5, 1e-9);
  ASSERT_EQ(fits.size(), 2U);
  EXPECT_EQ(fits[0].what, "DeepEP inside a node");
  EXPECT_EQ(fits[0].points, 1);
}

TEST(DispatchFit, OtherPointsAndLinksThatNobodyMeasuredChangeNothing) {
  Cluster cluster = two_nodes();
  cluster.inter_node = {};
  std::vector<Fit> fits;
  fit_dispatch(cluster,
               {point("ring simple", 1, 320e6, 1e-3), point("DeepEP combine bf16", 2, 40e6, 1e-3)},
               fits);
  EXPECT_EQ(cluster.intra_node.deepep_fraction, 0.0);
  EXPECT_EQ(cluster.inter_node.deepep_fraction, 0.0);
  EXPECT_TRUE(fits.empty());
}

// Twice the usual time: twice the latency at half of the bandwidth.
TEST(DispatchFit, LowLatencyIsScaledToTheMeasuredTime) {
  const Cluster cluster = two_nodes();
  const DispatchRate usual = dispatch_rate({}, 1);
  const double size = 7.5e6;
  const double time = usual.dispatch_latency.value() + size / (500e9 * usual.dispatch_fraction);
  const auto rates = fit_low_latency(
      cluster, {point(std::string(kDeepEpDispatchLowLatency), 1, size, 2.0 * time)});
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_EQ(rates[0].nodes, 1);
  EXPECT_NEAR(rates[0].dispatch_latency.value(), 2.0 * usual.dispatch_latency.value(), 1e-12);
  EXPECT_NEAR(rates[0].dispatch_fraction, usual.dispatch_fraction / 2.0, 1e-9);
  EXPECT_EQ(rates[0].combine_latency, usual.combine_latency);  // not measured
}

TEST(DispatchFit, ItsTimesAreNoCurveOfALink) {
  Cluster cluster = two_nodes();
  const Assembled made = assemble({point("DeepEP dispatch bf16", 1, 320e6, 1e-3)}, cluster);
  EXPECT_TRUE(made.cluster.intra_node.curves.empty());
  EXPECT_NEAR(made.cluster.intra_node.deepep_fraction, 0.7, 1e-9);
}

}  // namespace
}  // namespace meshwright::calibrate
