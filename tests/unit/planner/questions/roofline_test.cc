// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// 100e12 FLOP/s and 1e12 B/s meet at 100 FLOPs per byte.
TEST(Roofline, TheRoofsMeetAtPeakOverBandwidth) {
  const Roofline roofs{.peak = teraflops_per_second(100), .bandwidth = gigabytes_per_second(1000)};
  EXPECT_DOUBLE_EQ(roofs.attainable(50.0).value(), 50e12);
  EXPECT_DOUBLE_EQ(roofs.attainable(100.0).value(), 100e12);
  EXPECT_DOUBLE_EQ(roofs.attainable(1000.0).value(), 100e12);
}

// One sequence of 1,024 tokens; the MLP's first product is 1,024 x 4,096 x 1,024: 2 x 2^32 FLOPs.
TEST(Roofline, HasTheLayersProductsBelowTheRoof) {
  const Scenario scenario{small_model(), small_cluster(1, 80), small_job()};
  const Roofline roofs = roofline_of(scenario, {.data_parallel_size = 8});
  EXPECT_TRUE(std::any_of(roofs.operators.begin(), roofs.operators.end(),
                          [](const auto& op) { return op.work.value() == 2.0 * 4294967296.0; }));
  for (const RooflineOperator& op : roofs.operators) {
    EXPECT_GT(op.intensity(), 0.0) << op.name;
    EXPECT_LE(op.rate().value(), roofs.peak.value()) << op.name;
  }
}

}  // namespace
}  // namespace meshwright::planner
