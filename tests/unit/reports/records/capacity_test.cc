// SPDX-License-Identifier: Apache-2.0
// A capacity answer's record obeys its schema and reads back; its numbers are consistent with each
// other.
#include "reports/records/capacity.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/sections/capacity_charts.h"
#include "reports/sections/decision_charts.h"
#include "reports/sections/decision_page.h"
#include "reports/sections/decision_table.h"
#include "reports/tables/capacity_tables.h"
#include "reports/tables/csv.h"
#include "reports/text/capacity_text.h"
#include "reports/text/text.h"
#include "sim/base/error.h"
#include "tests/unit/reports/plan_fixture.h"
#include "tests/unit/reports/schema_check.h"

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

CapacityFile file_of(const planner::CapacityQuestion& question, bool with_levers) {
  return capacity_file_of(planner::capacity_answer(question, with_levers), sample_origin(),
                          "meshwright capacity --model m");
}

Json written(const CapacityFile& file) { return plain(capacity_file_record().write(file)); }

TEST(Capacity, ObeysItsSchemaAndReadsBack) {
  const CapacityFile file = file_of(question(), true);
  const Json record = written(file);
  EXPECT_EQ(complaint("capacity", record), "");
  EXPECT_FALSE(file.capacity.levers.empty());
  EXPECT_FALSE(file.capacity.what_if->cells.empty());
  EXPECT_EQ(written(capacity_file_record().read(record, "c.json")), record);
  EXPECT_EQ(complaint("capacity", written(file_of(question(), false))), "");
}

TEST(Capacity, WithoutALayoutItStillObeysItsSchema) {
  planner::CapacityQuestion q = question();
  q.gpus = {12};
  const CapacityFile file = file_of(q, true);
  EXPECT_EQ(complaint("capacity", written(file)), "");
  EXPECT_FALSE(file.capacity.recommended);
  EXPECT_EQ(file.capacity.front(), nullptr);
  EXPECT_THAT(file.capacity.rows[0].limits[0], HasSubstr("8 or 16"));
  EXPECT_FALSE(written(file)["capacity"]["rows"][0].contains("days"));
}

TEST(Capacity, ARowThatFitsHasAllKeys) {
  Json record = written(file_of(question(), false));
  record["capacity"]["rows"][0].erase("goodput");
  EXPECT_THROW(capacity_file_record().read(record, "c.json"), InputError);
}

TEST(Capacity, PartsOfTheTimeAddUp) {
  const Capacity capacity = file_of(question(), false).capacity;
  EXPECT_EQ(capacity.currency(), "EUR");
  for (const CapacityRow& row : capacity.rows) {
    if (!row.fits) continue;
    Seconds sum = row.time.productive;
    for (const Seconds lost : row.time.lost) sum += lost;
    EXPECT_NEAR(sum / row.time.elapsed, 1.0, 1e-9);
    EXPECT_LE(row.cost->p10, row.cost->p50);
    EXPECT_EQ(row.cost->currency, "EUR");
  }
}

// The waterfall's parts are the row's elapsed time, and each is drawn once.
TEST(Capacity, TheWaterfallAddsUpToTheElapsedTime) {
  const Capacity capacity = file_of(question(), false).capacity;
  const CapacityRow* row = capacity.front();
  ASSERT_NE(row, nullptr);
  double days = 0.0;
  for (const ElapsedPart& part : capacity.elapsed) days += part.days;
  EXPECT_NEAR(days, row->time.elapsed.value() / 86400.0, 1e-9);
  EXPECT_EQ(capacity.elapsed.front().name, "productive_steps");
  const std::string chart = waterfall_chart(capacity);
  for (const ElapsedPart& part : capacity.elapsed) {
    EXPECT_THAT(chart, HasSubstr(">" + spoken(part.name) + "</text>"));
  }
}

TEST(Capacity, TheGoodputChartHasALineForEachRestart) {
  const Capacity capacity = file_of(question(), false).capacity;
  ASSERT_TRUE(capacity.goodput_curves);
  const std::string chart = goodput_chart(capacity, DeviceKind::gpu);
  for (const planner::GoodputCurve& curve : capacity.goodput_curves->curves) {
    EXPECT_THAT(chart, HasSubstr(">restart " + duration_text(curve.restart) + "</text>"));
  }
}

// Last row of a table of parts, in days.
double last_days(const Table& table) { return std::get<double>(table.rows.back()[1]) / 86400.0; }

// 35 + 4 + 0.35 = 39.35 days at the predicted inputs. The ranges move the median to 39.9 days, the
// number of all other tables.
TEST(CapacityTables, PartsOfTheTimeEndWithTheMedian) {
  planner::TimeParts time;
  time.productive = seconds(35.0 * 86400.0);
  time.lost[0] = seconds(4.0 * 86400.0);
  time.lost[1] = seconds(0.35 * 86400.0);
  time.elapsed = seconds(39.35 * 86400.0);
  const Table table = time_table(time, 39.9);
  EXPECT_NEAR(last_days(table), 39.9, 1e-9);
  double sum = 0.0, elapsed = 0.0, effect = 0.0;
  for (const std::vector<Cell>& row : table.rows) {
    const std::string& part = std::get<std::string>(row[0]);
    const double days = std::get<double>(row[1]) / 86400.0;
    if (part.starts_with("elapsed, at")) {
      elapsed = days;
    } else if (part.starts_with("effect of the ranges")) {
      effect = days;
    } else if (!part.starts_with("elapsed")) {
      sum += days;
    }
  }
  EXPECT_NEAR(sum, 39.35, 1e-9);
  EXPECT_NEAR(elapsed, 39.35, 1e-9);
  EXPECT_NEAR(effect, 0.55, 1e-9);
  const Capacity capacity = file_of(question(), false).capacity;
  const CapacityRow* row = capacity.front();
  ASSERT_NE(row, nullptr);
  EXPECT_NEAR(last_days(time_table(row->time, row->days.p50)), row->days.p50, 1e-9);
}

// Elapsed time over interruptions is 39.35 days x 24 h / 578 = 1.634 h, 98 minutes. Failures come
// each 87.9 minutes of training: restarts and lost work are not in that time.
TEST(Capacity, InterruptionsAndTheTimeBetweenThemAreOfOneClock) {
  Capacity capacity = file_of(question(), false).capacity;
  for (CapacityRow& row : capacity.rows) {
    row.interruptions.expected = {450.0, 578.0, 742.0};
    row.interruptions.mean_time_between_h = 87.9 / 60.0;
    row.time.elapsed = seconds(39.35 * 86400.0);
  }
  const std::string body = capacity_body(capacity, DeviceKind::gpu);
  EXPECT_THAT(body,
              HasSubstr("578 interruptions are expected (P10–P90: 450–742), one per " +
                        duration_text(seconds(39.35 * 86400.0 / 578.0)) + " of elapsed time."));
  EXPECT_THAT(body, HasSubstr("While it trains, the mean time between failures is " +
                              duration_text(seconds(87.9 * 60.0))));
  EXPECT_NE(duration_text(seconds(39.35 * 86400.0 / 578.0)), duration_text(seconds(87.9 * 60.0)));
}

// The faster count costs more days and more money than the other: hollow in the chart, and its
// reason below its row.
TEST(Capacity, ADominatedRowIsHollowAndNamesItsReason) {
  Capacity capacity = file_of(question(), false).capacity;
  ASSERT_EQ(capacity.frontier.size(), 2U);
  EXPECT_THAT(frontier_chart(capacity, DeviceKind::gpu),
              testing::Not(HasSubstr("class=\"dominated\"")));
  FrontierFacts& point = capacity.frontier.back();
  point.dominated_by = capacity.frontier.front().row;
  point.reason = "batch 2,048 is not divisible by the factor 3 of 24,576";
  point.slower.reset();
  point.cost_per_day_saved.reset();
  const std::string chart = frontier_chart(capacity, DeviceKind::gpu);
  EXPECT_THAT(chart, HasSubstr("<circle class=\"dominated\""));
  EXPECT_THAT(chart, HasSubstr("<circle class=\"dot\""));
  const std::string table = decision_table(capacity, DeviceKind::gpu);
  EXPECT_THAT(table, HasSubstr(">dominated by 8</span>"));
  EXPECT_THAT(table, HasSubstr(point.reason + "</td>"));
  // 8 GPUs of which cluster: the two rows differ in it.
  capacity.rows.back().cluster = "b200-512";
  EXPECT_THAT(decision_table(capacity, DeviceKind::gpu),
              HasSubstr(">dominated by 8 " + capacity.rows.front().cluster + "</span>"));
}

TEST(Capacity, TheTornadoHasDaysAndMoney) {
  const Capacity capacity = file_of(question(), true).capacity;
  const std::string chart = tornado_chart(capacity);
  EXPECT_THAT(chart, HasSubstr("Change in days and cost of each lever"));
  EXPECT_THAT(chart, HasSubstr(">days</text>"));
  EXPECT_THAT(chart, HasSubstr("EUR</text>"));
  EXPECT_THAT(chart, HasSubstr(">price "));
}

// 900 days were published. The prediction of 8 or 16 GPUs for 1e11 tokens is far below.
TEST(Capacity, APublishedRunSaysWhetherThePredictionHoldsIt) {
  Capacity capacity = file_of(question(), false).capacity;
  const CapacityRow* row = capacity.front();
  ASSERT_NE(row, nullptr);
  ReferenceFacts& run = capacity.reference.emplace();
  run.name = "a published run";
  run.row = row->id;
  run.gpus = row->gpus;
  run.stated_gpu_hours = 900.0 * 24.0 * run.gpus;
  const std::string outside = decision_header({.capacity = capacity});
  EXPECT_THAT(outside, HasSubstr("<dt>published run</dt><dd><b>900 days</b>"));
  EXPECT_THAT(outside, HasSubstr("outside P10–P90 of its prediction"));
  run.stated_gpu_hours = row->days.p50 * 24.0 * run.gpus;
  EXPECT_THAT(decision_header({.capacity = capacity}),
              HasSubstr("inside P10–P90 of its prediction"));
}

// Costs stand in the first screen, the frontier and the decision table. Each names prices and date.
TEST(Capacity, EveryPlaceOfACostSaysThatPricesAreExamples) {
  planner::CapacityQuestion q = question();
  q.clusters.push_back(q.clusters.front());
  q.clusters.back().name = "other";
  q.options.prices.prices.push_back({"other", "", {3, 2, 4}});
  const Capacity capacity = file_of(q, true).capacity;
  const std::string header =
      decision_header({.capacity = capacity, .subject = "gpt-small", .hash = "0123456789abcdef"});
  EXPECT_THAT(header, HasSubstr("<span class=\"tag\">example prices of 2026-11, no offer</span>"));
  EXPECT_THAT(header, HasSubstr("cost (P90)"));
  EXPECT_THAT(header, HasSubstr(", example prices of 2026-11</span>"));     // first screen
  EXPECT_THAT(header, HasSubstr("P10–P90 (example prices of 2026-11)"));    // frontier
  EXPECT_THAT(header, HasSubstr("cost, EUR (example prices of 2026-11)"));  // table
  EXPECT_THAT(clusters_table(capacity, DeviceKind::gpu), HasSubstr("example prices of 2026-11"));
  EXPECT_THAT(capacity_body(capacity, DeviceKind::gpu),
              HasSubstr("Example prices, no offer, of 2026-11"));
  EXPECT_THAT(capacity.headline + capacity.verdict, HasSubstr("Prices are examples"));
}

// Nobody states the power of CPU cores: an empty column would say nothing.
TEST(Capacity, TheTableHasNoEnergyWherePowerIsNotStated) {
  Capacity capacity = file_of(question(), false).capacity;
  EXPECT_THAT(decision_table(capacity, DeviceKind::gpu), HasSubstr(">energy"));
  for (CapacityRow& row : capacity.rows) row.energy_mwh.reset();
  EXPECT_THAT(decision_table(capacity, DeviceKind::gpu), testing::Not(HasSubstr(">energy")));
}

TEST(CapacityText, SaysHowManyWhenAndForHowMuch) {
  const std::string verdict = file_of(question(), false).capacity.verdict;
  EXPECT_THAT(verdict, HasSubstr("GPUs of sample finish 100 G tokens in"));
  EXPECT_THAT(verdict, HasSubstr("EUR"));
  EXPECT_EQ(money_text(77.34e6, "USD"), "77.3 M USD");
  EXPECT_EQ(money_text(12300.0, "USD"), "12,300 USD");
  EXPECT_EQ(days_text({71.6, 77.9, 88.2}), "77.9 days (P10-P90: 71.6 to 88.2)");
  EXPECT_THAT(verdict, HasSubstr("Each day saved costs: 16 GPUs instead of 8 GPUs"));
  EXPECT_THAT(verdict, HasSubstr("Prices are examples (mine, 2026-11), not an offer."));
}

// One recommendation: the headline names its row, and the neighbours are compared with it.
TEST(CapacityText, TheHeadlineIsTheRecommendedRows) {
  planner::CapacityQuestion q = question();
  q.options.start = planner::date_from_text("2027-01-04");
  q.options.limits.deadline = planner::date_from_text("2099-12-31");
  const Capacity capacity = file_of(q, true).capacity;
  const CapacityRow* row = capacity.row(capacity.recommended);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->gpus, 8);
  EXPECT_THAT(capacity.headline, HasSubstr("Reserve 8 GPUs: done by " + row->done->p90));
  EXPECT_THAT(capacity.headline, HasSubstr("before the deadline. Set aside "));
  EXPECT_EQ(capacity.why_not_fewer, "");
  EXPECT_THAT(capacity.why_not_more, HasSubstr("16 GPUs take"));
  EXPECT_THAT(capacity.why_not_more, HasSubstr("than 8 GPUs"));
  EXPECT_THAT(capacity.tags, testing::Contains(HasSubstr("example prices of 2026-11")));
  EXPECT_EQ(capacity.calendar.front().name, "start");
  EXPECT_EQ(capacity.calendar.back().name, "deadline");
}

TEST(CapacityText, TheNearestRowIsTheOneThatMissesByLeast) {
  planner::CapacityQuestion q = question();
  q.options.limits.budget = 1.0;
  q.options.limits.max_gpus = 1000;
  const Capacity capacity = file_of(q, false).capacity;
  const CapacityRow* row = capacity.row(capacity.closest);
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(capacity.headline,
              HasSubstr(fmt::format("Nearest: {} GPUs; P90 cost is", row->gpus)));
  for (const CapacityRow& other : capacity.rows) {
    if (other.fits) {
      EXPECT_GE(other.cost->p90, row->cost->p90);
    }
  }
}

TEST(CapacityTables, CsvHasOneRowARowAndEveryNumber) {
  const std::string csv =
      table_to_csv(capacity_table(file_of(question(), false).capacity, DeviceKind::gpu, true));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_THAT(csv, HasSubstr("days_p10,days_p50,days_p90"));
  EXPECT_THAT(csv, HasSubstr("cost_p90,currency,energy_mwh_p10"));
}

}  // namespace
}  // namespace meshwright::reports
