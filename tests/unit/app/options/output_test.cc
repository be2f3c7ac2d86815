// SPDX-License-Identifier: Apache-2.0
#include "app/options/output.h"

#include <gtest/gtest.h>

#include "app/files/files.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::app {
namespace {

// A file has the JSON whatever the format is. Standard output has what the file does not.
TEST(AnswerFile, HasTheJsonAndLeavesOtherFormatsToStandardOutput) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path("answer.json");
  EXPECT_FALSE(write_answer_file({.format = Format::json, .out = file}, "{}\n"));
  EXPECT_EQ(read_text_file(file), "{}\n");
  EXPECT_TRUE(write_answer_file({.format = Format::csv, .out = file}, "[]\n"));
  EXPECT_EQ(read_text_file(file), "[]\n");
  EXPECT_TRUE(write_answer_file({.format = Format::json}, "{}\n"));
}

}  // namespace
}  // namespace meshwright::app
