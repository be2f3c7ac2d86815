// SPDX-License-Identifier: Apache-2.0
#include "sim/collective/collective.h"

#include <gtest/gtest.h>

#include "sim/collective/collective_model.h"

namespace meshwright {
namespace {

// A link without latency at 100 GB/s, and one curve: all-reduce over 4 ranks.
Cluster measured() {
  Cluster c;
  c.gpus_per_node = 8;
  c.intra_node.bandwidth = gigabytes_per_second(100);
  c.intra_node.bandwidth_fraction = 1.0;
  c.intra_node.relative_spread = 0.2;
  c.inter_node = c.intra_node;
  c.intra_node.curves.push_back({Collective::all_reduce,
                                 4,
                                 {{bytes(1e3), microseconds(10), 0.01},
                                  {bytes(1e5), microseconds(20), 0.03},
                                  {bytes(1e6), microseconds(18), 0.02},
                                  {bytes(1e7), microseconds(180), 0.02}}});
  return c;
}
constexpr Placement kFour{4, 4, 1, 1};

Cost all_reduce(double payload, const Placement& p = kFour) {
  return collective_cost(Collective::all_reduce, bytes(payload), p, measured());
}

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 8), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::send_recv, 2), 1.0);
}

TEST(CollectiveCost, AMeasuredSizeIsUsedAsItIs) {
  const Cost c = all_reduce(1e5);
  EXPECT_EQ(c.time, microseconds(20));
  EXPECT_EQ(c.relative_spread, 0.03);
  EXPECT_EQ(c.provenance, Provenance::measured);
}

TEST(CollectiveCost, BetweenPointsItIsStraightInLogLog) {
  // 1e4 is half way from 1e3 to 1e5 in log: sqrt(10 * 20) us.
  const Cost c = all_reduce(1e4);
  EXPECT_NEAR(c.time.value(), 14.1421e-6, 1e-10);
  EXPECT_EQ(c.provenance, Provenance::interpolated);
}

TEST(CollectiveCost, NoiseDoesNotMakeALargerPayloadFaster) {
  // The 1 MB point (18 us) lies below the 100 KB point: flattened to 20.
  EXPECT_EQ(all_reduce(1e6).time, microseconds(20));
  double last = 0.0;
  for (double payload = 100; payload < 1e9; payload *= 1.3) {
    const double time = all_reduce(payload).time.value();
    EXPECT_GE(time, last);
    last = time;
  }
}

TEST(CollectiveCost, BeyondTheCurveTimeIsConstantBelowAndBandwidthAbove) {
  EXPECT_EQ(all_reduce(10).time, microseconds(10));
  EXPECT_NEAR(all_reduce(3e7).time.value(), 540e-6, 1e-12);
  EXPECT_EQ(all_reduce(3e7).provenance, Provenance::extrapolated);
}

// One point of 10 MB, 180 us, and a model without latency: 1 MB takes a tenth, 18 us. From 4 KiB
// down only the start-up is left: 180 us * 4096 / 1e7 = 73.7 ns.
TEST(CollectiveCost, BelowALargeFirstPointTimeFallsAsTheModelsDoesDownToTheStartUp) {
  Cluster c = measured();
  c.intra_node.curves = {{Collective::all_reduce, 4, {{bytes(1e7), microseconds(180), 0.02}}}};
  const auto time = [&](double payload) {
    return collective_cost(Collective::all_reduce, bytes(payload), kFour, c).time.value();
  };
  EXPECT_NEAR(time(1e6), 18e-6, 1e-12);
  EXPECT_NEAR(time(4096), 73.728e-9, 1e-15);
  EXPECT_EQ(time(8), time(4096));
}

TEST(CollectiveCost, AnotherGroupSizeIsScaledByTheModel) {
  // Without latency the model's ratio of 8 to 4 ranks is 1.75 / 1.5.
  const Cost c = all_reduce(1e7, {8, 8, 1, 1});
  EXPECT_NEAR(c.time.value(), 180e-6 * 1.75 / 1.5, 1e-12);
  EXPECT_EQ(c.provenance, Provenance::extrapolated);
}

TEST(CollectiveCost, OtherCollectivesKeepTheModel) {
  const Cluster c = measured();
  const Cost cost = collective_cost(Collective::all_gather, bytes(1e7), kFour, c);
  EXPECT_EQ(cost.time, collective_model_time(Collective::all_gather, bytes(1e7), kFour, c));
  EXPECT_EQ(cost.provenance, c.intra_node.provenance);
  EXPECT_EQ(cost.relative_spread, 0.2);
}

TEST(CollectiveCost, ACurveAcrossNodesIsScaledToTheGroupsShareOfNics) {
  // Measured: 4 ranks, one a node, alone, 2 NICs for 8 devices (400 GB/s each). With 8 such groups
  // a node each gets 800 / 8 = 100 GB/s: 4 times as long.
  Cluster c = measured();
  c.nics_per_node = 2;
  c.num_nodes = 4;
  c.gpus_per_node = 8;
  c.intra_node.bandwidth = gigabytes_per_second(1e6);
  c.inter_node.curves.push_back({Collective::all_gather, 4, {{bytes(1e6), microseconds(30), 0.0}}});
  const Cost alone = collective_cost(Collective::all_gather, bytes(1e6), {4, 1, 4, 1}, c);
  EXPECT_EQ(alone.time, microseconds(30));
  EXPECT_EQ(alone.provenance, Provenance::measured);
  const Cost shared = collective_cost(Collective::all_gather, bytes(1e6), {4, 1, 4, 8}, c);
  EXPECT_NEAR(shared.time / alone.time, 4.0, 1e-9);
}

// Two ranks of each of two nodes, one such group alone (10 us) and two at once (30 us): each is its
// own measurement. One rank of each of four nodes was not measured: the lone group's time, scaled.
TEST(CollectiveCost, TheCurveWithTheGroupsOwnPlacementIsTaken) {
  Cluster c = measured();
  c.gpus_per_node = 4;
  c.num_nodes = 4;
  c.inter_node.curves = {{Collective::all_gather, 4, {{bytes(1e6), microseconds(10), 0.0}}, 2, 1},
                         {Collective::all_gather, 4, {{bytes(1e6), microseconds(30), 0.0}}, 2, 2}};
  const auto time = [&](const Placement& p) {
    return collective_cost(Collective::all_gather, bytes(1e6), p, c);
  };
  EXPECT_EQ(time({4, 2, 2, 1}).time, microseconds(10));
  EXPECT_EQ(time({4, 2, 2, 2}).time, microseconds(30));
  EXPECT_EQ(time({4, 2, 2, 2}).provenance, Provenance::measured);
  EXPECT_EQ(time({4, 1, 4, 1}).provenance, Provenance::extrapolated);
}

// Inside a node: one pair alone 10 us, four pairs at once 12 us; two pairs were not measured.
TEST(CollectiveCost, GroupsAtOnceInsideANodeAreReadFromTheNearestNumberOfThem) {
  Cluster c = measured();
  c.intra_node.curves = {{Collective::all_gather, 2, {{bytes(1e6), microseconds(10), 0.0}}, 2, 1},
                         {Collective::all_gather, 2, {{bytes(1e6), microseconds(12), 0.0}}, 2, 4}};
  const auto cost = [&](int groups) {
    return collective_cost(Collective::all_gather, bytes(1e6), {2, 2, 1, groups}, c);
  };
  EXPECT_EQ(cost(1).time, microseconds(10));
  EXPECT_EQ(cost(4).time, microseconds(12));
  EXPECT_EQ(cost(4).provenance, Provenance::measured);
  EXPECT_EQ(cost(3).time, microseconds(12));
  EXPECT_EQ(cost(3).provenance, Provenance::interpolated);
}

TEST(CollectiveCost, AGroupOfOneCostsNothing) {
  EXPECT_EQ(all_reduce(1e9, {1, 1, 1, 1}).time.value(), 0.0);
  EXPECT_EQ(all_reduce(0).time.value(), 0.0);
}

}  // namespace
}  // namespace meshwright
