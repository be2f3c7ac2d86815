// SPDX-License-Identifier: Apache-2.0
#include "reports/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reports/html/escape.h"
#include "reports/sections/decision_table.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"
#include "tests/unit/reports/answered_plan.h"
#include "tests/unit/reports/capacity_fixture.h"

namespace meshwright::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

Report report_with_sizes(const planner::Plan& plan) {
  ReportContents contents = contents_of(plan);
  contents.sizes = planner::size_map(plan, {});
  return report_of(contents);
}

// The page without its scripts: what a reader sees whose browser runs none.
std::string without_scripts(std::string page) {
  for (std::size_t begin = page.find("<script"); begin != std::string::npos;
       begin = page.find("<script")) {
    page.erase(begin, page.find("</script>", begin) + 9 - begin);
  }
  return page;
}

std::string embedded_record(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(Page, ReadsWithoutScript) {
  const Report report = report_with_sizes(sample_plan());
  const std::string page = without_scripts(report_html(report));
  EXPECT_THAT(page, HasSubstr(html::escape(report.verdict)));
  for (const char* id :
       {"verdict", "decision-table", "recommended", "certainty", "red-flags", "rests-on"}) {
    EXPECT_THAT(page, HasSubstr(std::string("id=\"") + id + "\""));
  }
  for (const char* id : {"step-time", "ranking", "traffic", "memory", "heat-map", "timeline",
                         "rejections", "calibration", "assumptions", "glossary", "provenance"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<section id=\"") + id + "\">"));
  }
  EXPECT_THAT(page, HasSubstr("<caption>The fastest layouts that fit</caption>"));
  EXPECT_THAT(page, HasSubstr("needs 96 GiB of 80 GiB"));
}

Report answered_report() {
  const AnsweredPlan a = answered_plan();
  ReportContents contents = contents_of(a.plan);
  contents.sizes = planner::size_map(a.plan, a.search);
  contents.scaling = a.answers.scaling;
  contents.answers = answers_of(a.answers, a.plan);
  return report_of(contents);
}

TEST(Page, SaysWhatAnMfuCountsAndWhatACostIsMadeOf) {
  planner::Plan plan = sample_plan();
  plan.job.train_tokens = 1e12;
  plan.cluster.price_per_gpu_hour = 2.0;
  const Report report = report_of(contents_of(plan));
  const std::string page = without_scripts(report_html(report));
  EXPECT_THAT(page, HasSubstr(html::escape(std::string(kMfuConvention))));
  const std::string& cost = report.capacity.rows.front().cost_explanation;
  EXPECT_THAT(cost, HasSubstr(" h x 2 USD per GPU-hour"));
  EXPECT_THAT(page, HasSubstr("Median cost: " + html::escape(cost)));
}

// One section of a page; empty: it is not there.
std::string section_of(const std::string& page, const std::string& id) {
  const std::size_t begin = page.find("<section id=\"" + id + "\">");
  if (begin == std::string::npos) return "";
  return page.substr(begin, page.find("</section>", begin) - begin);
}

// Five bars, and the step as the last row of its terms.
TEST(Page, TheStepHasAtMostFiveBarsAndATotal) {
  ReportContents contents = contents_of(sample_plan());
  contents.top = 20;
  while (contents.plan.ranked.size() < 8) {
    const Estimate slower = contents.plan.ranked[1];
    contents.plan.ranked.push_back(slower);
  }
  const std::string page = without_scripts(report_html(report_of(contents)));
  const std::string step = section_of(page, "step-time");
  EXPECT_THAT(step, HasSubstr("#5 "));
  EXPECT_THAT(step, Not(HasSubstr("#6 ")));
  EXPECT_THAT(step, HasSubstr("<th scope=\"row\">step</th>"));
}

// Paper: the record's hash and page numbers on every sheet, headings of tables again on each.
TEST(Page, EverySheetNamesTheRecordAndItsPage) {
  const std::string page = report_html(report_with_sizes(sample_plan()));
  EXPECT_THAT(page, HasSubstr("@bottom-left { content: \"record "));
  EXPECT_THAT(page, HasSubstr("\"page \" counter(page) \" of \" counter(pages)"));
  EXPECT_THAT(page, HasSubstr("thead { display: table-header-group; }"));
}

// The decision's days, cost and energy include failures, checkpoints and cooling. Those of the
// steps alone are lower, and would be second numbers of the same count of GPUs.
TEST(Page, DaysCostAndEnergyOfACountAreTheDecisionsAlone) {
  const AnsweredPlan a = answered_plan();
  ReportContents contents = contents_of(a.plan);
  contents.scaling = a.answers.scaling;
  for (planner::ScalePoint& point : contents.scaling.points) {
    point.cost = 15.6e6;
    point.device_energy_kwh = 15.6e6;
  }
  const std::string page = without_scripts(report_html(report_of(contents)));
  const std::string scaling = section_of(page, "scaling");
  EXPECT_THAT(scaling, HasSubstr("GPU-hours per billion tokens"));
  EXPECT_THAT(scaling, HasSubstr("The decision table has days, cost and energy"));
  for (const char* heading : {">days</th>", ">cost</th>", ">energy</th>", ">energy, kWh</th>"}) {
    EXPECT_THAT(scaling, Not(HasSubstr(heading)));
  }
}

// P10-P90 for days and cost, the 90 % interval for a step.
TEST(Page, RangesHaveTwoLabels) {
  const Report report = answered_report();
  const std::string page = without_scripts(report_html(report));
  EXPECT_THAT(report.capacity.verdict, HasSubstr("days (P10-P90: "));
  EXPECT_THAT(report.decision.recommendation, HasSubstr("(90 % interval: "));
  EXPECT_EQ(report.decision.range, "P10-P90");
  EXPECT_THAT(page, HasSubstr("Ranges: P10–P90."));
  EXPECT_THAT(page, HasSubstr("90 % interval, s"));
  for (const char* other : {"of 10 cases", "10 to 90 %", "80 % range", "90 % range"}) {
    EXPECT_THAT(page, Not(HasSubstr(other)));
  }
}

// What published fleets of GPUs measured keeps their words.
TEST(Page, CallsCoresCores) {
  AnsweredPlan a = answered_plan();
  a.plan.cluster.device.kind = DeviceKind::cpu;
  ReportContents contents = contents_of(a.plan);
  contents.scaling = a.answers.scaling;
  contents.answers = answers_of(a.answers, a.plan);
  const Report report = report_of(contents);
  const std::string page = without_scripts(report_html(report));
  for (const char* words :
       {"tokens/s/core", "More or fewer cores", "sent per core and step", "core-hours",
        "Memory of one core of each stage", "One process with one core"}) {
    EXPECT_THAT(page, HasSubstr(words));
  }
  for (const char* words : {"/GPU", "GPU-hour", "one GPU", "per GPU", ">GPUs<"}) {
    EXPECT_THAT(page, Not(HasSubstr(words)));
  }
  EXPECT_THAT(report.verdict, Not(HasSubstr("GPU")));
}

TEST(Page, AnswersReadWithoutScript) {
  const Report report = answered_report();
  const std::string page = without_scripts(report_html(report));
  for (const char* id : {"confidence", "sensitivity", "topology", "scaling"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<section id=\"") + id + "\">"));
  }
  for (const planner::Crossover& crossover : report.answers->crossovers) {
    const std::string_view label = planner::text_of(crossover.parameter).label;
    EXPECT_THAT(page, HasSubstr(html::escape(label)));
  }
  for (const planner::WhatIf& what_if : report.answers->what_ifs) {
    EXPECT_THAT(page, HasSubstr(html::escape(what_if.sentence)));
  }
  for (const CertaintyItem& item : report.certainty) {
    EXPECT_FALSE(item.text.starts_with(item.label)) << item.text;  // the page shows both
  }
  EXPECT_THAT(page, HasSubstr("Layout #1 compared with each runner-up"));
  EXPECT_THAT(page, HasSubstr("<svg class=\"placement\""));
  EXPECT_THAT(page, HasSubstr("rank 15</text>"));
}

// Words that only we would use, each with the field's own in its place.
TEST(Page, SpeaksTheWordsOfTheField) {
  const Report report = answered_report();
  const std::string page = without_scripts(report_html(report));
  for (const char* word : {"hangs on",
                           "number is",
                           " flip",
                           "near twin",
                           "choosing it loses",
                           "learnt from",
                           "really run",
                           "behind, %",
                           "look twice",
                           "is no gate",
                           "stands twice",
                           " positions",
                           "crosses which wire",
                           "How to make this again",
                           "what stands behind it",
                           "still noisy",
                           " a stage,",
                           "tokens a step",
                           "calls a step",
                           "GB a rank",
                           "GPUs a node",
                           "s a step"}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

// Ten thousand layouts stay below 6 MB, the script among them.
TEST(Page, TenThousandLayoutsAreShortRowsInThePage) {
  planner::Plan plan = sample_plan();
  for (int i = 0; i < 10'000; ++i) plan.ranked.push_back(plan.ranked[1]);
  const std::string page = report_html(report_of(contents_of(plan)));
  EXPECT_LT(page.size(), 6'000'000U);
  const Json record = Json::parse(embedded_record(page));
  EXPECT_EQ(record["ranked"].size() + record["ranked_rest"]["rows"].size(), 10'002U);
}

// Rows of the grid are written once, here: the viewer only places them.
TEST(Page, WhatIfsComeWithTheirRowsAndSentences) {
  const Report report = report_with_sizes(sample_plan());
  const std::optional<WhatIfBlock> block = what_if_block(report);
  ASSERT_TRUE(block && report.capacity.what_if);
  ASSERT_EQ(block->cells.size(), report.capacity.what_if->cells.size());
  std::size_t cells = 1;
  for (const WhatIfControl& axis : block->axes) {
    EXPECT_EQ(axis.texts.size(), axis.values.size());
    EXPECT_LT(axis.base, axis.values.size());
    cells *= axis.values.size();
  }
  EXPECT_EQ(cells, block->cells.size());
  EXPECT_THAT(block->cells[0].row, HasSubstr("<tr class=\"what-if\">"));
  EXPECT_THAT(block->cells[0].sentence, HasSubstr("GPUs take"));
}

TEST(Page, EverySectionHasAnIdAWordAndAPlace) {
  std::set<std::string_view> ids;
  for (const ReportSection* section : report_sections()) {
    EXPECT_TRUE(ids.insert(section->id).second) << section->id;
    EXPECT_FALSE(section->word.empty());
    EXPECT_NE(section->page, nullptr) << section->id;
  }
}

TEST(Page, RejectionsSayWhatWasNeededAndWhatThereIs) {
  const std::string page = without_scripts(report_html(report_with_sizes(sample_plan())));
  EXPECT_THAT(page, HasSubstr("<code>memory_<wbr>capacity</code>"));
  EXPECT_THAT(page, HasSubstr("<td>96.00 GiB</td><td>80.00 GiB</td>"));
}

TEST(Page, CarriesTheRecordItWasMadeFrom) {
  const Report report = report_with_sizes(sample_plan());
  Json without_grid = report_record().write(report);  // of what-ifs, which the page has as texts
  without_grid["capacity"].erase("what_if");
  EXPECT_EQ(Json::parse(embedded_record(report_html(report))), without_grid);
}

TEST(Page, NamesInInputsStayText) {
  planner::Plan plan = sample_plan();
  plan.model.name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'\u2028\u202E";
  plan.cluster.name = "<!--";
  const std::string page = report_html(report_with_sizes(plan));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert(1)")));
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(without_scripts(page), Not(HasSubstr("\u202E")));
  EXPECT_THAT(page, HasSubstr("&lt;img src=x"));
  EXPECT_THAT(page, HasSubstr("[U+202E]"));
  EXPECT_EQ(Json::parse(embedded_record(page))["model"]["name"], plan.model.name);
}

TEST(Page, LoadsNothingAndAllowsOnlyItsOwnScript) {
  const std::string page = report_html(report_with_sizes(sample_plan()));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("'unsafe-eval'")));
  const std::string script = html::code_in_script(viewer_script());
  if (!script.empty()) {
    EXPECT_THAT(page, HasSubstr("script-src " + html::csp_hash(script)));
    EXPECT_THAT(page, HasSubstr("Apache License"));
  }
  for (const char* loader : {"<link", "<img", "<iframe", "@import", "url(http"}) {
    EXPECT_THAT(without_scripts(page), Not(HasSubstr(loader)));
  }
}

TEST(Page, StaysBelowOneAndAHalfMegabytes) {
  EXPECT_LT(report_html(report_with_sizes(sample_plan())).size(), 1'500'000U);
}

TEST(Page, IsTheSamePageEveryTime) {
  const Report report = report_with_sizes(sample_plan());
  EXPECT_EQ(report_html(report), report_html(report));
}

TEST(Page, MeasuredAndDatasheetNumbersLookDifferent) {
  const std::string page = report_html(report_with_sizes(sample_plan()));
  EXPECT_THAT(page, HasSubstr("<span class=\"badge measured\">measured</span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"badge datasheet\">datasheet</span>"));
}

TEST(Page, LaunchFilesKeepTheirLinesAndStayText) {
  Report report = report_with_sizes(sample_plan());
  report.launch = {{"Megatron-LM", "a commit", "run.sh", "a <b\n  $c\n", {"mind <this>"}, ""},
                   {"DeepSpeed", "a commit", "ds.json", "", {}, "no <pipeline>"}};
  const std::string page = without_scripts(report_html(report));
  EXPECT_THAT(page, HasSubstr("tabindex=\"0\">a &lt;b\n  $c\n</pre>"));
  EXPECT_THAT(page, HasSubstr("mind &lt;this&gt;"));
  EXPECT_THAT(page, HasSubstr("DeepSpeed cannot run this layout: no &lt;pipeline&gt;."));
}

TEST(Page, SaysWhyWhenNothingFits) {
  planner::Plan plan = sample_plan();
  plan.ranked.clear();
  plan.pareto.clear();
  const std::string page = report_html(report_with_sizes(plan));
  EXPECT_THAT(page, HasSubstr("No layout of gpt-small fits 16 GPUs"));
  EXPECT_THAT(page, Not(HasSubstr("<section id=\"ranking\">")));
  EXPECT_THAT(page, HasSubstr("<section id=\"rejections\">"));
}

}  // namespace
}  // namespace meshwright::reports
