// SPDX-License-Identifier: Apache-2.0
#include "interop/tables/csv.h"

#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using Row = std::vector<std::string>;

TEST(Csv, QuotesHoldCommasLineEndsAndDoubledQuotes) {
  const CsvTable table = read_csv("a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n", "t.csv");
  EXPECT_EQ(table.columns, (Row{"a", "b"}));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0], (Row{"1", "x, \"y\"\nz"}));
}

TEST(Csv, EmptyCellsStayAndEmptyLinesGo) {
  const CsvTable table = read_csv(
      "\xEF\xBB\xBF"
      "a,b,c\n\n,2,\n",
      "t.csv");
  EXPECT_EQ(table.columns.front(), "a");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0], (Row{"", "2", ""}));
}

// A row with a cell too few is handed on: whoever reads it judges it, and knows its line.
TEST(Csv, KeepsTheLineOfEachRow) {
  const CsvTable table = read_csv("a,b\n1,\"x\ny\"\n\n3\n", "t.csv");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[1], (Row{"3"}));
  EXPECT_EQ(table.lines, (std::vector<int>{2, 5}));
}

std::string csv_error(std::string_view text) {
  return error_of([&] { read_csv(text, "t.csv"); });
}

TEST(Csv, NamesTheLineOfWhatIsWrong) {
  EXPECT_EQ(csv_error("a,b\n1,\"2\n"), "t.csv: line 2: a quote is never closed");
  EXPECT_EQ(csv_error("a,a\n"), "t.csv: column \"a\" is a duplicate of another one");
  EXPECT_EQ(csv_error("\n"), "t.csv: must start with a row of column names");
}

TEST(Csv, ATableOfTheMostRowsIsRead) {
  std::string text = "a\n";
  for (std::size_t i = 0; i < kMostRows; ++i) text += "1\n";
  EXPECT_EQ(csv_error(text), "");
  EXPECT_EQ(csv_error(text + "1\n"), "t.csv: line 10002: at most 10000 rows are read");
}

}  // namespace
}  // namespace meshwright::interop
