// SPDX-License-Identifier: Apache-2.0
// Trials on the page of a service.
#include "reports/sections/service_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/html/escape.h"
#include "reports/page.h"
#include "reports/text/serving_validation_text.h"
#include "tests/unit/reports/served_fixture.h"

namespace meshwright::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t times_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ServiceValidation, StandsOnThePageOnlyWithTrials) {
  EXPECT_EQ(service_validation_section(sample_service()), "");
  EXPECT_THAT(service_html(sample_service()), Not(HasSubstr("<section id=\"validation\">")));
  const ServingPlanFile file = served_service();
  const std::string page = service_html(file);
  EXPECT_THAT(page, HasSubstr("<section id=\"validation\">"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#validation\">Measured</a>"));
  const std::string header = page.substr(0, page.find("</header>"));
  EXPECT_THAT(header, HasSubstr(html::escape(served_sentence(file.validation->validation))));
}

TEST(ServiceValidation, ShowsEachDeploymentItsErrorsAndWhatWasNotRun) {
  const ServingPlanFile file = served_service();
  const std::string section = service_validation_section(file);
  for (const ServingFinding& one : serving_findings(file.validation->validation)) {
    EXPECT_THAT(section, HasSubstr(html::escape(one.says)));
  }
  for (const char* words :
       {"2 deployments ran on up to 2 cores, each with 16 requests.", "<code>1 x tp1</code>",
        "<code>1 x tp2</code>", "decode step", "step with prompts", "TPOT (mean)", "TTFT (median)",
        "output tokens/s", ">-20<", "as predicted", "1 x tp1: bf16 (fp32 was run)",
        "Deployments that were skipped", "tp1: no room", "host slowdown"}) {
    EXPECT_THAT(section, HasSubstr(words));
  }
  EXPECT_EQ(times_of(section, "<caption>"), 3U);
  EXPECT_EQ(times_of(section, "<table>"), 3U);
}

TEST(ServiceValidation, CautionStandsInTheVerdictAndInTheSection) {
  ServingPlanFile file = served_service();
  file.validation->caution = "CAUTION, forced: trials of another plan.";
  add_service_sentences(file);
  EXPECT_THAT(file.verdict, testing::StartsWith("CAUTION, forced: trials of another plan. "));
  EXPECT_THAT(service_validation_section(file), HasSubstr("<p>CAUTION, forced"));
}

TEST(ServiceValidation, WithoutAServiceThatRanHasTheReasons) {
  ServingPlanFile file = served_service();
  file.validation->validation.services.clear();
  const std::string section = service_validation_section(file);
  EXPECT_THAT(section, HasSubstr("No trial could be compared."));
  EXPECT_THAT(section, HasSubstr("tp1: no room"));
  EXPECT_THAT(section, Not(HasSubstr("<table>")));
}

TEST(ServiceValidation, NamesStayText) {
  ServingPlanFile file = served_service();
  planner::ServingValidation& validation = file.validation->validation;
  validation.services[0].name = "<i>";
  validation.services[0].observation.not_run = {"<i>"};
  validation.skipped = {"<i>"};
  EXPECT_THAT(service_validation_section(file), Not(HasSubstr("<i>")));
}

planner::ServingValidation timed(double predicted_ms, double measured_ms) {
  planner::ServingComparison one;
  one.name = "1 x tp1";
  one.decode = {1, milliseconds(predicted_ms), milliseconds(measured_ms), 0.0};
  planner::ServingValidation validation;
  validation.services = {one};
  return validation;
}

// One time, and its entry in the legend; its axes go from 10 to 100 ms: log10(20) = 1.301 of the
// way across 64 to 470, log10(50) = 1.699 of the way from 270 up to 24.
TEST(ServiceParityChart, HasAPointPerTimeOnEqualAxes) {
  const std::string chart = service_parity_chart(timed(50, 20));
  EXPECT_EQ(times_of(chart, "<circle"), 2U);
  EXPECT_THAT(chart, HasSubstr("cx=\"186.2\" cy=\"98.1\""));
  EXPECT_THAT(chart, HasSubstr("1 x tp1, decode step: 50 ms predicted, 20 ms measured"));
  // Two services with four times each, and a legend of four.
  EXPECT_EQ(times_of(service_parity_chart(served_service().validation->validation), "<circle"),
            12U);
}

TEST(ServiceParityChart, OfAnyNumbersStaysFinite) {
  EXPECT_EQ(service_parity_chart(timed(0, 20)), "");
  for (const double ms : {1e-300, 10.0, 1e300}) {
    const std::string chart = service_parity_chart(timed(ms, ms));
    EXPECT_THAT(chart, HasSubstr("<circle"));
    EXPECT_THAT(chart, Not(HasSubstr("nan")));
    EXPECT_THAT(chart, Not(HasSubstr("inf")));
  }
}

}  // namespace
}  // namespace meshwright::reports
