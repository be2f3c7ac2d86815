// SPDX-License-Identifier: Apache-2.0
// The page of a service plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/html/escape.h"
#include "reports/page.h"
#include "reports/sections/service_charts.h"
#include "reports/tables/serving_plan_tables.h"
#include "reports/text/text.h"
#include "tests/unit/reports/service_fixture.h"

namespace meshwright::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

// What a reader sees whose browser runs no script.
std::string seen(std::string page) {
  for (std::size_t begin = page.find("<script"); begin != std::string::npos;
       begin = page.find("<script")) {
    page.erase(begin, page.find("</script>", begin) + 9 - begin);
  }
  return page;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ServicePage, AnswersOnTheFirstScreen) {
  const ServingPlanFile& file = sample_service();
  const std::string page = seen(service_html(file));
  const std::string header = page.substr(page.find("<header>"), page.find("</header>"));
  EXPECT_THAT(header, HasSubstr(html::escape(file.verdict)));
  EXPECT_THAT(header, HasSubstr(html::escape(file.why_not_fewer)));
  EXPECT_THAT(header, HasSubstr(html::escape(file.how_sure)));
  for (const char* words : {"example prices of 2026-11, no offer", "TTFT (p90)", "TPOT (p90)",
                            "cost per million tokens", "energy per million tokens", "kW with PUE",
                            "limit 2 s", "id=\"decision-table\""}) {
    EXPECT_THAT(header, HasSubstr(words));
  }
}

TEST(ServicePage, HasItsSectionsWithoutScript) {
  const std::string page = seen(service_html(sample_service()));
  for (const char* id : {"frontier", "latency", "memory", "steps", "use", "cost", "what-changes",
                         "deployments", "evidence", "launch", "provenance"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<section id=\"") + id + "\">"));
    EXPECT_THAT(page, HasSubstr(std::string("<a href=\"#") + id + "\">"));
  }
  for (const char* id : {"frontier-chart", "ttft-chart", "tpot-chart"}) {
    EXPECT_THAT(page, HasSubstr(std::string("id=\"") + id + "\""));
  }
  EXPECT_THAT(page, HasSubstr("vllm serve &lt;model&gt;"));
  EXPECT_THAT(page, HasSubstr("Dynamo cannot run this layout: it has no option for a size."));
  for (const char* word : {"\"nan", ">nan", " nan ", "inf "}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

TEST(ServicePage, CarriesItsRecordAndIsTheSameEveryTime) {
  const ServingPlanFile& file = sample_service();
  const std::string page = service_html(file);
  EXPECT_EQ(page, service_html(file));
  const std::string open = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = page.find(open) + open.size();
  const Json carried = Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(carried, Json::parse(serving_plan_record().write(file).dump()));
  EXPECT_LT(page.size(), 1'500'000U);
}

// An open loop offers a rate, which is no rate that is served.
TEST(ServicePage, TableOfLoadsSaysServedRatesOfUsersOnly) {
  ServingPlanFile file = sample_service();
  EXPECT_THAT(service_html(file), Not(HasSubstr("served requests/s")));
  file.load.kind = LoadKind::closed_loop;
  for (planner::ServingLoadPoint& point : file.details->loads) point.users = 8;
  EXPECT_THAT(service_html(file), HasSubstr("served requests/s"));
}

// The cell of a row under a key; nothing: the table has no such column.
Cell cell_of(const Table& table, std::size_t row, std::string_view key) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key) return table.rows.at(row).at(i);
  }
  return {};
}

// A mean in closed form may exceed a simulated percentile: they never share a row.
TEST(ServingChoicesTable, HasMeansAndPercentilesOfOneSimulation) {
  ServingPlanFile file = sample_service();
  planner::ServingChoice& first = file.plan.choices.at(0);
  ASSERT_TRUE(first.simulated && first.simulated_ttft);
  first.state.state.ttft = seconds(9);
  first.state.state.tpot = seconds(9);
  planner::ServingChoice& last = file.plan.choices.back();
  last.simulated.reset();
  last.simulated_ttft.reset();
  last.simulated_tpot.reset();
  const Table table = serving_choices_table(file);
  EXPECT_EQ(cell_of(table, 0, "ttft_ms"), time_in_ms(first.simulated->ttft.mean));
  EXPECT_EQ(cell_of(table, 0, "tpot_ms"), time_in_ms(first.simulated->tpot.mean));
  EXPECT_EQ(cell_of(table, 0, "ttft_at_ms"), time_in_ms(*first.simulated_ttft));
  EXPECT_EQ(cell_of(table, 0, "source"), Cell("simulated"));
  const std::size_t end = table.rows.size() - 1;
  EXPECT_EQ(cell_of(table, end, "ttft_ms"), time_in_ms(last.state.state.ttft));
  EXPECT_EQ(cell_of(table, end, "ttft_at_ms"), Cell());
  EXPECT_EQ(cell_of(table, end, "source"), Cell("closed form"));
}

// A prefill pool decodes nothing.
TEST(ServicePage, SaysWhatAPrefillPoolHolds) {
  ServingPlanFile file = sample_service();
  planner::ServicePoolDetails& pool = file.details->pools.front();
  pool.pool = planner::ServicePool::prefill;
  pool.admitted = 1;
  pool.running = 0;
  const std::string page = seen(service_html(file));
  EXPECT_THAT(page, HasSubstr("1 request of the asked length fits at once.</p>"));
  EXPECT_THAT(page, Not(HasSubstr("0 run under the load")));
}

TEST(ServicePage, WithoutAPriceSpeaksOfNone) {
  ServingPlanFile file = sample_service();
  for (planner::ServingChoice& one : file.plan.choices) one.money.reset();
  add_service_sentences(file);
  const std::string page = seen(service_html(file));
  EXPECT_THAT(page, HasSubstr("No price is known for this cluster."));
  EXPECT_THAT(page, HasSubstr("Energy of tokens under the asked load"));
  for (const char* words : {"no offer", "paid by the hour", "per million tokens (90 % interval"}) {
    EXPECT_THAT(page, Not(HasSubstr(words)));
  }
}

// Every number of the first screen has its interval, and what-ifs ask for the same percentile.
TEST(ServicePage, HasIntervalsAndOneQuestion) {
  const std::string page = seen(service_html(sample_service()));
  EXPECT_EQ(count_of(page.substr(0, page.find("</header>")), "<span>90 % interval: "), 4U);
  EXPECT_THAT(page, HasSubstr("The same question with one thing changed, simulated at p90"));
  planner::ServingQuestion q = service_question();
  q.percentile = 0;
  const std::string means = seen(service_html(service_file_of(q)));
  EXPECT_THAT(means, HasSubstr("The same question with one thing changed, simulated means"));
  EXPECT_THAT(means, HasSubstr("requests/s the queue grows without end. Plans use at most 90.0 %"));
}

TEST(ServicePage, NamesStayText) {
  ServingPlanFile file = sample_service();
  file.model = file.engine = file.cluster = "</script><b>";
  file.plan.front.front().name = "<i>";
  file.details->pools.front().name = "<i>";
  add_service_sentences(file);
  const std::string page = seen(service_html(file));
  EXPECT_THAT(page, Not(HasSubstr("<b></h1>")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
}

TEST(ServicePage, SaysWhatAnOlderPlanLacks) {
  ServingPlanFile file = sample_service();
  file.details.reset();
  file.launch.clear();
  file.what_ifs.clear();
  add_service_sentences(file);
  const std::string page = seen(service_html(file));
  EXPECT_THAT(page, HasSubstr("This plan has no details of its first deployment."));
  EXPECT_THAT(page, HasSubstr("Run its command again with --what-if."));
  EXPECT_THAT(page, Not(HasSubstr("<section id=\"latency\">")));
}

TEST(ServicePage, OfNoDeploymentHasItsReasons) {
  planner::ServingQuestion q = service_question();
  q.limits.tpot = milliseconds(0.5);
  const ServingPlanFile file = service_file_of(q);
  const std::string page = seen(service_html(file));
  EXPECT_THAT(page, HasSubstr("No deployment meets the limits."));
  EXPECT_THAT(page, HasSubstr("<section id=\"rejections\">"));
  EXPECT_THAT(page, HasSubstr("narrower weights"));
}

// Points left of the limit of TPOT are hollow, and those right of it are full.
TEST(ServiceFrontierChart, MarksTheRegionOfTheTargets) {
  ServingPlanFile file = sample_service();
  file.limits = {{}, milliseconds(20), {}};  // 50 tokens a second of a user
  file.plan.front = {{{}, "a", 1, seconds(0.1), milliseconds(10), 100, 100},
                     {{}, "b", 9, seconds(0.1), milliseconds(40), 900, 25}};
  const std::string chart = service_frontier_chart(file);
  EXPECT_EQ(count_of(chart, "class=\"dot\""), 1U);
  EXPECT_EQ(count_of(chart, "class=\"dominated\""), 1U);
  EXPECT_EQ(count_of(chart, "class=\"region\""), 1U);
  EXPECT_THAT(chart, HasSubstr("limit: TPOT 20 ms"));
  file.limits = {};
  EXPECT_EQ(count_of(service_frontier_chart(file), "class=\"region\""), 0U);
  file.plan.front.clear();
  EXPECT_EQ(service_frontier_chart(file), "");
}

planner::ServingLoadPoint load_at(double rate, double ttft, bool asked) {
  planner::ServingLoadPoint point;
  point.request_rate = rate;
  point.asked = asked;
  point.ttft = {seconds(ttft), seconds(ttft), seconds(ttft), seconds(ttft), seconds(ttft)};
  point.tpot = point.e2e = point.ttft;
  return point;
}

TEST(ServiceLatencyChart, HasCurvesKneeLimitAndTheAskedLoad) {
  ServingPlanFile file = sample_service();
  file.limits = {seconds(2), {}, {}};
  file.details->loads = {load_at(1, 1, false), load_at(2, 1.5, true), load_at(3, 2.5, false)};
  file.details->ttft_knee = 2.5;
  file.details->tpot_knee.reset();
  const std::string chart = service_latency_chart(file, ServiceLatency::ttft);
  EXPECT_EQ(count_of(chart, "class=\"curve\""), 3U);
  for (const char* words : {"knee: 2.5", "limit 2 s", "asked: 2", "requests/s", "p99"}) {
    EXPECT_THAT(chart, HasSubstr(words));
  }
  EXPECT_THAT(service_latency_chart(file, ServiceLatency::tpot), Not(HasSubstr("knee: ")));
  file.details->loads.resize(1);
  EXPECT_EQ(service_latency_chart(file, ServiceLatency::ttft), "");
}

// Below a second the axis counts milliseconds.
TEST(ServiceLatencyChart, HasShortTimesInMilliseconds) {
  ServingPlanFile file = sample_service();
  file.limits = {};
  file.details->loads = {load_at(1, 0.01, false), load_at(2, 0.02, true)};
  const std::string chart = service_latency_chart(file, ServiceLatency::tpot);
  EXPECT_THAT(chart, HasSubstr("TPOT, ms"));
  EXPECT_THAT(chart, HasSubstr(">20</text>"));
  file.details->loads.back() = load_at(2, 3.0, true);
  EXPECT_THAT(service_latency_chart(file, ServiceLatency::tpot), HasSubstr("TPOT, s"));
}

// A latency of 1,000 s would flatten all others: its curves end at the upper edge.
TEST(ServiceLatencyChart, CutsOffWhatIsFarAboveTheAskedLoad) {
  ServingPlanFile file = sample_service();
  file.limits = {};
  file.details->loads = {load_at(1, 1, false), load_at(2, 1.5, true), load_at(3, 1000, false)};
  const std::string chart = service_latency_chart(file, ServiceLatency::ttft);
  // The two lower loads and the legend of each of three curves.
  EXPECT_EQ(count_of(chart, "<circle"), 9U);
  EXPECT_THAT(chart, Not(HasSubstr("1,000")));
}

// Weights of 10^300 bytes on a device of almost none fill its bar.
TEST(ServicePage, BarsOfAnyNumbersStayFinite) {
  ServingPlanFile file = sample_service();
  planner::ServicePoolDetails& pool = file.details->pools.front();
  pool.memory.device = bytes(1e-300);
  pool.memory.kv_cache = bytes(1e300);
  const std::string page = seen(service_html(file));
  for (const char* word : {"\"inf", "\"nan"}) EXPECT_THAT(page, Not(HasSubstr(word)));
}

TEST(ServiceCharts, OfAnyNumbersStayFinite) {
  ServingPlanFile file = sample_service();
  file.plan.front = {{{}, "a", 1e300, seconds(0), seconds(0), 1e300, 1e300},
                     {{}, "b", 0, seconds(1e300), seconds(1e300), 0, 0}};
  file.details->loads = {load_at(0, 0, true), load_at(1e300, 1e300, false)};
  for (const std::string& chart :
       {service_frontier_chart(file), service_latency_chart(file, ServiceLatency::ttft)}) {
    EXPECT_THAT(chart, Not(HasSubstr("nan")));
    EXPECT_THAT(chart, Not(HasSubstr("inf")));
  }
}

}  // namespace
}  // namespace meshwright::reports
