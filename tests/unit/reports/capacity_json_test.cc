// SPDX-License-Identifier: Apache-2.0
// A capacity answer's record obeys its schema; its numbers are consistent with each other.
#include "reports/capacity_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan_fixture.h"
#include "reports/capacity_tables.h"
#include "reports/capacity_text.h"
#include "reports/csv.h"
#include "schema_check.h"

namespace meshwright::reports {
namespace {

using testing::HasSubstr;

planner::CapacityQuestion question() {
  planner::CapacityQuestion q;
  q.model = sample_model();
  q.clusters = {{"sample", sample_cluster(), sample_job()}};
  q.clusters.front().cluster.device.power_watts = 500.0;
  q.gpus = {8, 12, 16};
  q.global_batch_sizes = {sample_job().global_batch_size};
  q.train_tokens = 1e11;
  q.options.prices = {"mine", "2026-11", "a test", "EUR", true, {{"sample", "", {2, 1, 3}}}};
  q.options.power.kg_co2_per_kwh = planner::stated(0.4);
  return q;
}

Json record_of(const planner::CapacityAnswer& answer) {
  const Json json = capacity_record(answer, sample_origin(), "meshwright capacity --model m");
  return Json::parse(json.dump());
}

TEST(CapacityJson, ObeysItsSchema) {
  const Json record = record_of(planner::capacity_answer(question(), true));
  EXPECT_EQ(complaint("capacity", record), "");
  EXPECT_FALSE(record["capacity"]["levers"].empty());
  EXPECT_FALSE(record["capacity"]["what_if"]["cells"].empty());
  EXPECT_EQ(complaint("capacity", record_of(planner::capacity_answer(question(), false))), "");
}

TEST(CapacityJson, WithoutALayoutItStillObeysItsSchema) {
  planner::CapacityQuestion q = question();
  q.gpus = {12};
  const Json record = record_of(planner::capacity_answer(q, true));
  EXPECT_EQ(complaint("capacity", record), "");
  EXPECT_TRUE(record["capacity"]["recommended"].is_null());
  EXPECT_THAT(record["capacity"]["rows"][0]["limits"][0].get<std::string>(), HasSubstr("8 or 16"));
}

TEST(CapacityJson, PartsOfTheTimeAddUp) {
  const Json record = record_of(planner::capacity_answer(question(), false));
  for (const Json& row : record["capacity"]["rows"]) {
    if (!row["fits"].get<bool>()) continue;
    double sum = row["time"]["productive_s"].get<double>();
    for (const auto& [name, lost] : row["time"]["lost_s"].items()) sum += lost.get<double>();
    EXPECT_NEAR(sum / row["time"]["elapsed_s"].get<double>(), 1.0, 1e-9);
    EXPECT_LE(row["cost"]["p10"], row["cost"]["p50"]);
    EXPECT_EQ(row["cost"]["currency"], "EUR");
  }
}

TEST(CapacityText, SaysHowManyWhenAndForHowMuch) {
  const planner::CapacityAnswer answer = planner::capacity_answer(question(), false);
  const std::string verdict = verdict_of(answer);
  EXPECT_THAT(verdict, HasSubstr("GPUs of sample finish 100 G tokens in"));
  EXPECT_THAT(verdict, HasSubstr("EUR"));
  EXPECT_EQ(money_text(77.34e6, "USD"), "77.3 M USD");
  EXPECT_EQ(money_text(12300.0, "USD"), "12,300 USD");
  EXPECT_EQ(days_text({71.6, 77.9, 88.2}), "77.9 days (71.6 to 88.2)");
}

TEST(CapacityText, CsvHasOneRowARowAndEveryNumber) {
  const std::string csv =
      table_to_csv(capacity_table(planner::capacity_answer(question(), false), true));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_THAT(csv, HasSubstr("days_p10,days_p50,days_p90"));
  EXPECT_THAT(csv, HasSubstr("cost_p90,currency,energy_mwh_p10"));
}

}  // namespace
}  // namespace meshwright::reports
