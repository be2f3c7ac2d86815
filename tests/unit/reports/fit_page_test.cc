// SPDX-License-Identifier: Apache-2.0
#include "reports/fit_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

FitChart chart_that_misses() {
  return {
      "all_reduce <2 ranks>",
      "does not describe them",
      false,
      "bytes",
      true,
      {{1e3, "1 KB", seconds(8e-6), seconds(4e-6)}, {1e6, "1 MB", seconds(2e-3), seconds(1e-3)}}};
}

TEST(FitPage, HasAChartOfEachAndNothingFromElsewhere) {
  const std::string page = fit_page({chart_that_misses()}, "<core>");
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("&lt;core&gt;"));
  EXPECT_THAT(page, HasSubstr("<h2>all_reduce &lt;2 ranks&gt;</h2>"));
  EXPECT_THAT(page, HasSubstr("<p class=\"fails\">does not describe them.</p>"));
  EXPECT_THAT(page, HasSubstr("1 KB: 8 us measured, 4 us modelled"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(FitPage, ALineGoesThroughACurveOnly) {
  FitChart chart = chart_that_misses();
  EXPECT_THAT(fit_page({chart}, "t"), HasSubstr("<polyline class=\"model\""));
  chart.curve = false;
  EXPECT_THAT(fit_page({chart}, "t"), Not(HasSubstr("<polyline")));
}

}  // namespace
}  // namespace meshwright::reports
