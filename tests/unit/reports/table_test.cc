// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/csv.h"
#include "reports/markdown.h"
#include "reports/tables.h"
#include "sim/json/layout_line.h"

namespace meshwright::reports {
namespace {

Table sample() {
  return {"",
          {{"layout", "layout", ""}, {"step_time_seconds", "step", "s"}, {"ranks", "ranks", ""}},
          {{std::string("tp2"), 0.1234567, 8.0}, {std::string("µ"), 12.0, std::monostate{}}}};
}

TEST(Table, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(table_to_text(sample()),
            "layout  step [s]  ranks\n"
            "------  --------  -----\n"
            "tp2       0.1235      8\n"
            "µ          12.00      -\n");
}

planner::LayoutComparison run_of(const std::string& layout) {
  planner::LayoutComparison run;
  run.observation.layout = layout_line_from_text(layout).layout;
  run.observation.run_layout = run.observation.layout;
  run.observation.step_time = milliseconds(117.1);
  run.predicted.step_time = milliseconds(136);
  run.error = 0.161;
  run.inside_interval = run.same_bytes = true;
  run.memory_error = -0.0127;
  return run;
}

// The quickstart's table: no name takes more than two lines of 80 columns.
TEST(ValidationScreen, FitsEightyColumns) {
  planner::Validation validation;
  validation.layouts = {run_of("dp2 mbs4 zero2 overlap_grad_reduce overlap_param_gather"),
                        run_of("dp2 mbs4 overlap_grad_reduce")};
  EXPECT_EQ(table_to_text(validation_screen_table(validation), 80),
            "all with overlap_grad_reduce\n"
            "layout                     predicted  measured  error  inside  memory  bytes as\n"
            "                                [ms]      [ms]    [%]           error  predicted\n"
            "                                                                  [%]\n"
            "-------------------------  ---------  --------  -----  ------  ------  ---------\n"
            "dp2 mbs4 zero2                 136.0     117.1   16.1  yes      -1.27  yes\n"
            "overlap_param_gather\n"
            "dp2 mbs4                       136.0     117.1   16.1  yes      -1.27  yes\n");
}

TEST(ValidationScreen, ShowsTheExecutedLayoutWhereItDiffers) {
  planner::Validation validation;
  validation.layouts = {run_of("dp2"), run_of("tp2")};
  EXPECT_EQ(validation_screen_table(validation).columns[1].key, "predicted_ms");
  validation.layouts[1].observation.run_layout = layout_line_from_text("tp2 mbs2").layout;
  const Table table = validation_screen_table(validation);
  EXPECT_EQ(table.columns[1].key, "run_layout");
  EXPECT_EQ(std::get<std::string>(table.rows[1][1]), "tp2 mbs2");
}

TEST(Table, NeverLetsANameDriveTheTerminal) {
  Table table = sample();
  table.rows[0][0] = std::string("a\x1b[31mred\nline");
  EXPECT_THAT(table_to_text(table), testing::Not(testing::HasSubstr("\x1b")));
  EXPECT_THAT(table_to_text(table), testing::HasSubstr("a [31mred line"));
}

// Headings break first ("step" above "[s]"): 6 + 6 + 5 characters and two gaps of 2 are 21.
TEST(Table, BreaksHeadingsThenTextsToFitALine) {
  EXPECT_EQ(table_to_text(sample(), 22),
            "layout    step  ranks\n"
            "           [s]\n"
            "------  ------  -----\n"
            "tp2     0.1235      8\n"
            "µ        12.00      -\n");
  Table table{"", {{"a", "a", ""}, {"b", "b", ""}}, {}};
  table.rows = {{std::string("one two three four five six"), 1.0}};
  EXPECT_EQ(table_to_text(table, 20),
            "a                  b\n"
            "-----------------  -\n"
            "one two three      1\n"
            "four five six\n");
}

// "[M USD]" is one piece of a heading, "12 GiB" and "66 M USD" of a text: 8 characters.
TEST(Table, KeepsUnitsWithTheirNumbers) {
  Table table{"", {{"a", "cost at low", "M USD"}, {"b", "needs", ""}}, {}};
  table.rows = {{1.5, std::string("memory of 12 GiB for 66 M USD")}};
  EXPECT_EQ(table_to_text(table, 20),
            "cost at  needs\n"
            "    low\n"
            "[M USD]\n"
            "-------  -----------\n"
            "  1.500  memory of\n"
            "         12 GiB for\n"
            "         66 M USD\n");
}

TEST(Table, BreaksLinesBetweenWordsAndLongWordsAnywhere) {
  using testing::ElementsAre;
  EXPECT_THAT(broken_lines("a bb ccc", 4), ElementsAre("a bb", "ccc"));
  EXPECT_THAT(broken_lines("abcdefgh ij", 3), ElementsAre("abc", "def", "gh", "ij"));
  EXPECT_THAT(broken_lines("memory_capacity", 9), ElementsAre("memory_", "capacity"));
  EXPECT_THAT(broken_lines("a bb ccc", 0), ElementsAre("a bb ccc"));
}

TEST(Csv, KeepsAllDigitsAndTheUnitInTheHeading) {
  EXPECT_EQ(table_to_csv(sample()),
            "layout,step_time_seconds,ranks\r\n"
            "tp2,0.1234567,8\r\n"
            "µ,12,\r\n");
}

// RFC 4180, 2.6 and 2.7.
TEST(Csv, QuotesCommasQuotesAndLineBreaks) {
  Table table{"", {{"a", "a", ""}}, {}};
  table.rows = {{std::string("x,y")}, {std::string("say \"hi\"")}, {std::string("two\nlines")}};
  EXPECT_EQ(table_to_csv(table), "a\r\n\"x,y\"\r\n\"say \"\"hi\"\"\"\r\n\"two\nlines\"\r\n");
}

TEST(Csv, DoesNotHandFormulasToASpreadsheet) {
  Table table{"", {{"a", "a", ""}}, {{std::string("=cmd()")}, {-1.0}}};
  EXPECT_EQ(table_to_csv(table), "a\r\n'=cmd()\r\n-1\r\n");
}

TEST(Markdown, AlignsNumbersAndEscapesMarkup) {
  Table table{"T", {{"a", "a", ""}, {"b", "b", "s"}}, {{std::string("x|<b>"), 2.0}}};
  EXPECT_EQ(table_to_markdown(table),
            "### T\n\n| a | b, s |\n| --- | ---: |\n| x\\|\\<b\\> | 2.000 |\n");
}

}  // namespace
}  // namespace meshwright::reports
