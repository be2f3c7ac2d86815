// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/what_if_parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/error.h"
#include "sim/step/estimate.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

Scenario base() {
  Scenario scenario{small_model(), small_cluster(2, 80), small_job()};
  scenario.cluster.price_per_gpu_hour = 2.0;
  scenario.cluster.device.power_watts = 500.0;
  scenario.cluster.device.host_launch = microseconds(5);
  return scenario;
}

Seconds step_time(const Scenario& scenario) {
  Layout layout;
  layout.tensor_parallel_size = 2;
  layout.pipeline_parallel_size = 2;
  layout.data_parallel_size = 4;
  const Outcome outcome = estimate(scenario, layout);
  return std::get<Estimate>(outcome).step_time;
}

TEST(WhatIfParameter, EveryOneHasAValueThatTheFactorMultiplies) {
  for (const WhatIfParameterText& text : all_parameters()) {
    const double before = value_of(text.parameter, base());
    EXPECT_GT(before, 0.0) << text.name;
    EXPECT_NEAR(value_of(text.parameter, scaled(base(), text.parameter, 2.0)), 2.0 * before,
                1e-12 * before)
        << text.name;
  }
}

TEST(WhatIfParameter, FactorOneChangesNothing) {
  for (const WhatIfParameterText& text : all_parameters()) {
    EXPECT_EQ(step_time(scaled(base(), text.parameter, 1.0)), step_time(base())) << text.name;
  }
}

TEST(WhatIfParameter, MoreOfWhatIsFastIsNeverSlower) {
  for (const WhatIfParameter parameter :
       {WhatIfParameter::gemm_efficiency, WhatIfParameter::attention_efficiency,
        WhatIfParameter::peak_flops, WhatIfParameter::memory_bandwidth,
        WhatIfParameter::intra_node_bandwidth, WhatIfParameter::inter_node_bandwidth}) {
    Seconds before = step_time(scaled(base(), parameter, 0.25));
    for (const double factor : {0.5, 1.0, 2.0, 4.0}) {
      const Seconds after = step_time(scaled(base(), parameter, factor));
      EXPECT_LE(after, before) << text_of(parameter).name << " x " << factor;
      before = after;
    }
  }
}

// 0.5 of the peak may double; a link that reaches 0.8 of its bandwidth may gain a quarter.
TEST(WhatIfParameter, NothingGrowsBeyondItsPeak) {
  Scenario scenario = base();
  scenario.cluster.device.gemm.front().sustained_fraction = 0.5;
  scenario.cluster.inter_node.bandwidth_fraction = 0.8;
  EXPECT_DOUBLE_EQ(largest_factor(WhatIfParameter::gemm_efficiency, scenario), 2.0);
  EXPECT_DOUBLE_EQ(largest_factor(WhatIfParameter::inter_node_bandwidth, scenario), 1.25);
  EXPECT_TRUE(std::isinf(largest_factor(WhatIfParameter::inter_node_latency, scenario)));
}

// A message of 10 us is all latency; one of 110 us has 100 us of bytes.
TEST(WhatIfParameter, MeasuredMessagesMoveWithTheLink) {
  Scenario scenario = base();
  CollectiveCurve curve;
  curve.points = {{bytes(1024), microseconds(10), 0.03}, {mebibytes(1), microseconds(110), 0.05}};
  scenario.cluster.inter_node.curves.push_back(curve);
  const auto last = [](const Scenario& s) {
    return s.cluster.inter_node.curves.front().points.back().time / microseconds(1);
  };
  EXPECT_NEAR(last(scaled(scenario, WhatIfParameter::inter_node_bandwidth, 2.0)), 10 + 100 / 2.0,
              1e-9);
  EXPECT_NEAR(last(scaled(scenario, WhatIfParameter::inter_node_latency, 2.0)), 2 * 10 + 100.0,
              1e-9);
  EXPECT_EQ(provenance_of(WhatIfParameter::inter_node_bandwidth, scenario), Provenance::measured);
  EXPECT_DOUBLE_EQ(relative_spread(WhatIfParameter::inter_node_bandwidth, scenario), 0.05);
}

TEST(WhatIfParameter, UnknownNameIsRefusedWithTheNames) {
  try {
    parameter_named("inter_node_bandwith");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("gemm_efficiency"));
    EXPECT_THAT(e.hint(), testing::HasSubstr("inter_node_bandwidth"));
  }
}

}  // namespace
}  // namespace meshwright::planner
