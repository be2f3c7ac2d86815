// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/tables/csv.h"
#include "reports/tables/markdown.h"
#include "reports/tables/table_text.h"
#include "reports/tables/tables.h"
#include "sim/json/layout_line.h"

namespace meshwright::reports {
namespace {

Table sample() {
  return {"",
          {{"layout", "layout", ""}, {"step_time_seconds", "step", "s"}, {"ranks", "ranks", ""}},
          {{std::string("tp2"), 0.1234567, 8.0}, {std::string("µ"), 12.0, std::monostate{}}}};
}

// Two clusters' tables of one name: the columns of both, empty where a table lacks one.
TEST(Table, RowsOfTheSameNameAreOneTable) {
  std::vector<Table> tables{named("choices", sample()), named("money", sample())};
  add_rows(tables, named("choices", {"",
                                     {{"gpus", "GPUs", ""}, {"layout", "layout", ""}},
                                     {{4.0, std::string("tp4")}}}));
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(table_to_csv(tables.front()),
            "layout,step_time_seconds,ranks,gpus\r\n"
            "tp2,0.1234567,8,\r\n"
            "µ,12,,\r\n"
            "tp4,,,4\r\n");
}

TEST(Csv, HasAColumnForEachNumberOfACell) {
  const Table table{"",
                    {{"gpus", "GPUs (90 %)", ""}, {"needed", "needed", ""}},
                    {{Numbers{"2 (1-3)", {{"gpus", 2}, {"gpus_low", 1}, {"gpus_high", 3}}},
                      Numbers{"97.6 GiB", {{"needed_gib", 97.6}}}},
                     {4.0, Numbers{"16", {{"needed", 16}}}}}};
  EXPECT_EQ(table_to_csv(table),
            "gpus,gpus_low,gpus_high,needed_gib,needed\r\n"
            "2,1,3,97.6,\r\n"
            "4,,,,16\r\n");
  EXPECT_EQ(cell_text(table.rows[0][0], table.columns[0]), "2 (1-3)");
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

// The quickstart's table: what all runs share is said once, above it.
TEST(ValidationScreen, FitsEightyColumns) {
  planner::Validation validation;
  validation.layouts = {run_of("dp2 mbs4 zero2 overlap_grad_reduce overlap_param_gather"),
                        run_of("dp2 mbs4 overlap_grad_reduce")};
  validation.layouts[1].error = 0.05;
  EXPECT_EQ(table_to_text(validation_screen_table(validation), 80),
            "all with overlap_grad_reduce\n"
            "all rows: predicted 136.0 ms; measured 117.1 ms; in 90 % interval yes; memory\n"
            "error -1.27 %; bytes as predicted yes\n"
            "layout                               error [%]\n"
            "-----------------------------------  ---------\n"
            "dp2 mbs4 zero2 overlap_param_gather       16.1\n"
            "dp2 mbs4                                  5.00\n");
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
  table.rows = {{std::string("one two three four five six"), 1.0},
                {std::string("seven eight nine ten eleven twelve"), 2.0}};
  EXPECT_EQ(table_to_text(table, 25),
            "a                       b\n"
            "----------------------  -\n"
            "one two three four      1\n"
            "five six\n"
            "seven eight nine ten    2\n"
            "eleven twelve\n");
}

// Twenty characters and a gap of two leave three of 25: the numbers need six. The layout's longest
// word has 28.
TEST(Table, MovesATextBelowItsRowRatherThanCutItsWords) {
  Table table{"", {{"rank", "rank", ""}, {"layout", "layout", ""}, {"step", "step", "s"}}, {}};
  table.rows = {{1.0, std::string("tp2 recompute=selective:mlp+moe"), 3.25},
                {2.0, std::string("tp4 dp8"), 3.5}};
  EXPECT_EQ(table_to_text(table, 36),
            "rank  step [s]\n"
            "      layout\n"
            "----  --------\n"
            "   1     3.250\n"
            "      tp2\n"
            "      recompute=selective:mlp+moe\n"
            "   2     3.500\n"
            "      tp4 dp8\n");
}

// A column that is alike in all rows, one that repeats another, and one that nothing fills. Of one
// row nothing is known to be shared.
TEST(Table, SaysOnceWhatAllRowsShare) {
  Table table{"",
              {{"run", "run", ""},
               {"group", "group", ""},
               {"before", "step before", "s"},
               {"after", "step after", "s"},
               {"share", "share", "%"},
               {"note", "note", ""}},
              {}};
  table.rows = {{std::string("a"), std::string("dense"), 1.5, 1.5, 50.0, std::string()},
                {std::string("b"), std::string("dense"), 2.5, 2.5, 50.0, {}}};
  EXPECT_EQ(table_to_text(table),
            "all rows: group dense; share 50.00 %\n"
            "equal columns: step after = step before\n"
            "run  step before [s]\n"
            "---  ---------------\n"
            "a              1.500\n"
            "b              2.500\n");
  table.rows.pop_back();
  EXPECT_EQ(without_repetition(table).columns.size(), 5U);
}

// "b" is extra: with it the line has 20 + 2 + 8 characters.
TEST(Table, LeavesExtraColumnsOutBeforeItBreaksTexts) {
  Table table{"", {{"a", "a", ""}, {"b", "b", "", 4, true}}, {}};
  table.rows = {{std::string("twenty characters ab"), 12345678.0}, {std::string("two"), 2.0}};
  EXPECT_EQ(table_to_text(table, 25), "a\n--------------------\ntwenty characters ab\ntwo\n");
  EXPECT_THAT(table_to_text(table, 32), testing::HasSubstr("12,345,678"));
}

// Stages below each other would take 5 + 11 + 10 + 4 characters.
TEST(Table, TurnsATableOfNumbersThatIsTooWide) {
  Table table{"", {{"s", "stage", ""}, {"a", "activations", ""}, {"g", "gradients", ""}}, {}};
  table.rows = {{0.0, 1.0, 2.0}, {1.0, 3.0, 4.0}};
  EXPECT_EQ(table_to_text(table, 20),
            "stage        0  1\n"
            "-----------  -  -\n"
            "activations  1  3\n"
            "gradients    2  4\n");
}

// Ten rows of two columns cannot be turned into 20 characters either.
TEST(Table, CutsATableOfNumbersIntoBlocks) {
  Table table{"", {{"s", "stage", ""}, {"a", "activations", ""}, {"g", "gradients", ""}}, {}};
  for (double row = 0; row < 10; ++row) table.rows.push_back({row, row * 2, row * 3});
  const std::string text = table_to_text(table, 20);
  EXPECT_THAT(text,
              testing::StartsWith("stage  activations\n-----  -----------\n    0            0\n"));
  EXPECT_THAT(text,
              testing::HasSubstr("\n\nstage  gradients\n-----  ---------\n    0          0\n"));
}

// "[M USD]" is one piece of a heading, "12 GiB" and "66 M USD" of a text: 8 characters.
TEST(Table, KeepsUnitsWithTheirNumbers) {
  Table table{"", {{"a", "cost at low", "M USD"}, {"b", "needs", ""}}, {}};
  table.rows = {{1.5, std::string("a share of memory, 12 GiB for 66 M USD")}, {2.5, {}}};
  EXPECT_EQ(table_to_text(table, 30),
            "cost at  needs\n"
            "    low\n"
            "[M USD]\n"
            "-------  ---------------------\n"
            "  1.500  a share of memory,\n"
            "         12 GiB for 66 M USD\n"
            "  2.500  -\n");
}

TEST(Table, BreaksLinesBetweenWordsAndLongWordsAnywhere) {
  using testing::ElementsAre;
  EXPECT_THAT(broken_lines("a bb ccc", 4), ElementsAre("a bb", "ccc"));
  EXPECT_THAT(broken_lines("abcdefgh ij", 3), ElementsAre("abc", "def", "gh", "ij"));
  EXPECT_THAT(broken_lines("memory_capacity", 9), ElementsAre("memory_", "capacity"));
  EXPECT_THAT(broken_lines("a bb ccc", 0), ElementsAre("a bb ccc"));
  EXPECT_THAT(broken_lines("takes 3.2 s more", 10), ElementsAre("takes", "3.2 s more"));
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
