// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/serving_validation_table.h"

#include <gtest/gtest.h>

namespace meshwright::reports {
namespace {

planner::ServingValidation one_service() {
  planner::ServingComparison one;
  one.name = "1 x tp2";
  one.observation.device = "cpu";
  one.observation.ranks = 2;
  one.decode = {100, milliseconds(12), milliseconds(10), 0.2};
  one.predicted.tpot.mean = milliseconds(11);
  one.measured.tpot.mean = milliseconds(10);
  one.predicted.ttft.p50 = milliseconds(40);
  one.measured.ttft.p50 = milliseconds(50);
  one.predicted.output_tokens_per_second = 500;
  one.measured.output_tokens_per_second = 0;
  one.measured.requests = 80;
  planner::ServingValidation validation;
  validation.services = {one};
  return validation;
}

TEST(ServedQuantitiesTable, ErrorsAreOfPredictedOverMeasured) {
  const Table table = served_quantities_table(one_service());
  ASSERT_EQ(table.rows.size(), 4U);  // no step with prompts, no hand-over
  const auto error = [&](std::size_t row) { return std::get<double>(table.rows[row].back()); };
  EXPECT_EQ(std::get<std::string>(table.rows[0][1]), "decode step");
  EXPECT_NEAR(error(0), 20.0, 1e-9);   // 12 / 10 - 1
  EXPECT_NEAR(error(1), 10.0, 1e-9);   // 11 / 10 - 1
  EXPECT_NEAR(error(2), -20.0, 1e-9);  // 40 / 50 - 1
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.rows[3].back()));
  EXPECT_EQ(cell_text(table.rows[0].back(), table.columns.back()), "+20");
}

TEST(ServedQuantitiesTable, HasStepsWithPromptsAndHandOversWhereThereAreAny) {
  planner::ServingValidation validation = one_service();
  validation.services[0].mixed = {7, milliseconds(30), milliseconds(30), 0.0};
  validation.services[0].handover = {16, milliseconds(2), milliseconds(4), 0.5};
  const Table table = served_quantities_table(validation);
  ASSERT_EQ(table.rows.size(), 6U);
  EXPECT_EQ(std::get<std::string>(table.rows[1][1]), "step with prompts");
  EXPECT_EQ(std::get<std::string>(table.rows[2][1]), "hand-over of a cache");
}

TEST(ServedRunsTable, CountsCoresAndLeavesOutAnUnknownHost) {
  planner::ServingValidation validation = one_service();
  const Table without = served_runs_table(validation);
  EXPECT_EQ(without.columns[2].heading, "cores");
  EXPECT_EQ(without.columns.size(), 4U);
  validation.services[0].observation.host_time_ratio = 1.1;
  EXPECT_EQ(served_runs_table(validation).columns.size(), 5U);
}

}  // namespace
}  // namespace meshwright::reports
