// SPDX-License-Identifier: Apache-2.0
#include "planner/search/objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

using testing::HasSubstr;

// 64 sequences of 1024 tokens on 16 devices of 500 W at 3 a GPU-hour.
Scenario priced_scenario() {
  Scenario scenario{small_model(), small_cluster(2, 80), small_job()};
  scenario.cluster.price_per_gpu_hour = 3.0;
  scenario.cluster.device.power_watts = 500.0;
  return scenario;
}

double value(Objective objective) {
  return objective_value(objective, priced_scenario(), seconds(2), gibibytes(60));
}

TEST(Objective, ValuesAreTokensOverWhatTheyTake) {
  EXPECT_DOUBLE_EQ(value(Objective::step_time), 2.0);
  EXPECT_DOUBLE_EQ(value(Objective::tokens_per_second), 65536 / 2.0);
  EXPECT_DOUBLE_EQ(value(Objective::tokens_per_second_per_gpu), 65536 / 2.0 / 16);
  // 2 s x 16 GPUs x 3 / 3600 s = 0.0266667 for 65536 tokens.
  EXPECT_NEAR(value(Objective::tokens_per_dollar), 65536 / (2.0 * 16 * 3 / 3600), 1e-6);
  EXPECT_DOUBLE_EQ(value(Objective::tokens_per_joule), 65536 / (2.0 * 16 * 500));
  EXPECT_DOUBLE_EQ(value(Objective::memory_headroom), 25.0);
}

TEST(Objective, NamesAreReadAndAnUnknownOneListsThem) {
  for (const ObjectiveText& text : all_objectives()) {
    EXPECT_EQ(objective_named(std::string(text.name)), text.objective);
    EXPECT_EQ(text_of(text.objective).name, text.name);
  }
  try {
    objective_named("tokens_per_dolar");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("tokens_per_joule"));
    EXPECT_THAT(e.hint(), HasSubstr("tokens_per_dollar"));
  }
}

TEST(Objective, WithoutAPriceThereAreNoTokensPerDollar) {
  Cluster cluster = priced_scenario().cluster;
  EXPECT_NO_THROW(check_objective(Objective::tokens_per_dollar, cluster));
  cluster.price_per_gpu_hour = std::nullopt;
  EXPECT_THROW(check_objective(Objective::tokens_per_dollar, cluster), InputError);
}

TEST(Limits, TheTighterMemoryLimitCounts) {
  const Device device = priced_scenario().cluster.device;  // 80 GiB
  Limits limits;
  EXPECT_DOUBLE_EQ(memory_headroom(limits, device, {}), kDefaultHeadroom);
  limits.max_memory = gibibytes(60);
  EXPECT_DOUBLE_EQ(memory_headroom(limits, device, {}), 0.25);
  limits.headroom = 0.05;
  limits.max_memory = std::nullopt;
  EXPECT_DOUBLE_EQ(memory_headroom(limits, device, {}), 0.05);
  limits.max_memory = gibibytes(60);
  EXPECT_DOUBLE_EQ(memory_headroom(limits, device, {}), 0.25);
  limits.max_memory = gibibytes(100);
  EXPECT_DOUBLE_EQ(memory_headroom(limits, device, {}), 0.05);
  limits.max_memory = gibibytes(0);
  EXPECT_THROW(memory_headroom(limits, device, {}), InputError);
}

// An allocator that holds 1.25 times what is in use may use 0.97 / 1.25 of the device.
TEST(Limits, UnaskedHeadroomMakesTheFitCertain) {
  const Device device = priced_scenario().cluster.device;
  const MemoryFacts reserves{.reserved_ratio = 1.25};
  EXPECT_NEAR(memory_headroom({}, device, reserves), 0.224, 1e-12);  // rounding
  EXPECT_DOUBLE_EQ(memory_headroom({}, device, {}), kDefaultHeadroom);
  Limits asked;
  asked.headroom = 0.0;
  EXPECT_DOUBLE_EQ(memory_headroom(asked, device, reserves), 0.0);
}

TEST(Limits, StepAndCostAreExceededInWords) {
  Scenario scenario = priced_scenario();
  scenario.job.train_tokens = 65536 * 1000.0;  // 1000 steps
  Limits limits;
  EXPECT_EQ(exceeded(limits, scenario, seconds(9)), "");
  limits.max_step = seconds(3);
  EXPECT_EQ(exceeded(limits, scenario, seconds(3)), "");
  EXPECT_THAT(exceeded(limits, scenario, seconds(4)), HasSubstr("4 s, the limit is 3 s"));
  limits.max_step.reset();
  limits.max_cost = 26.0;  // 1000 steps x 2 s x 16 GPUs x 3 / 3600 s = 26.67
  EXPECT_THAT(exceeded(limits, scenario, seconds(2)), HasSubstr("26.67"));
  EXPECT_EQ(exceeded(limits, scenario, seconds(1.9)), "");
}

}  // namespace
}  // namespace meshwright::planner
