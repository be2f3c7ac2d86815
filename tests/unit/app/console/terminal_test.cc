// SPDX-License-Identifier: Apache-2.0
#include "app/console/terminal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace meshwright::app {
namespace {

TEST(Terminal, ShowsControlCharactersInsteadOfObeyingThem) {
  EXPECT_EQ(printable("a\x1b[31mred\x07"), "a\\u001b[31mred\\u0007");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(printable("\x7f"), "\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u009b");  // CSI as one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "x"),
            "\\u202ex");  // right to left from here
}

// A line of CSV ends with both; a return alone would write over the line.
TEST(Terminal, LeavesTheEndOfACsvLineAsItIs) {
  EXPECT_EQ(printable("a,b\r\n"), "a,b\r\n");
  EXPECT_EQ(printable("good\rbad"), "good\\u000dbad");
}

TEST(Terminal, ColoursNothingWhereThereAreNone) {
  EXPECT_EQ(styled(Style::warning, "red flags\n", false), "red flags\n");
  EXPECT_EQ(styled(Style::heading, "fastest\n", true), "\x1b[1mfastest\x1b[0m\n");
  EXPECT_EQ(styled(Style::heading, "a\x1b[31m", true), "\x1b[1ma\\u001b[31m\x1b[0m");
}

// Output of a test is no terminal.
TEST(Terminal, TakesItsWidthFromColumnsWhereThereIsNone) {
  if (::isatty(STDOUT_FILENO) != 0) GTEST_SKIP() << "standard output is a terminal";
  ::setenv("COLUMNS", "80", 1);
  EXPECT_EQ(terminal_width(), 80U);
  ::setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(terminal_width(), 120U);
  ::unsetenv("COLUMNS");
  EXPECT_EQ(terminal_width(), 120U);
}

TEST(Terminal, LeavesTextAsItIs) {
  const std::string text = "tab\tline\n\xc3\xa9 \xe2\x80\x94 \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_EQ(printable(text), text);
}

}  // namespace
}  // namespace meshwright::app
