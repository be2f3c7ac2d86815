// SPDX-License-Identifier: Apache-2.0
#include "sim/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Text, PartsWordsAndLines) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split_words(" a\t b\r\n"), ElementsAre("a", "b"));
  EXPECT_THAT(split_words(" "), IsEmpty());
  EXPECT_THAT(split_lines("a\r\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(split_lines("a\n"), ElementsAre("a"));
  EXPECT_THAT(split_lines(""), IsEmpty());
}

TEST(Text, ListsHaveSeparatorsBetweenParts) {
  std::string list;
  append_to_list(list, ", ", "a");
  append_to_list(list, ", ", "b");
  EXPECT_EQ(list, "a, b");
}

TEST(Text, EndsAreTrimmedAndPartsReplaced) {
  EXPECT_EQ(trimmed_right(" a \t\n"), " a");
  EXPECT_EQ(replaced("aXbX", "X", "--"), "a--b--");
  EXPECT_EQ(lower_case("GPU 0\xC3\x89"), "gpu 0\xC3\x89");
  EXPECT_TRUE(contains_any_case("SwitchName=s0", "switchname"));
}

}  // namespace
}  // namespace meshwright
