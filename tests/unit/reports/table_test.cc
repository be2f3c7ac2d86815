// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/csv.h"
#include "reports/markdown.h"

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
