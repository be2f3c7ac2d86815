// SPDX-License-Identifier: Apache-2.0
#include "sim/base/utf8.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(Utf8, CharactersOfOneToFourBytesAreText) {
  EXPECT_EQ(
      first_byte_not_utf8("a\xC2\x80\xE2\x82\xAC\xED\x9F\xBF\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF"),
      std::nullopt);
}

TEST(Utf8, TheFirstByteOfNoCharacterIsFound) {
  EXPECT_EQ(first_byte_not_utf8("ab\xFF"), 2U);
  EXPECT_EQ(first_byte_not_utf8("a\xC3("), 1U);            // a lead byte without its second
  EXPECT_EQ(first_byte_not_utf8("\xC0\xAF"), 0U);          // overlong
  EXPECT_EQ(first_byte_not_utf8("\xED\xA0\x80"), 0U);      // a surrogate
  EXPECT_EQ(first_byte_not_utf8("\xF4\x90\x80\x80"), 0U);  // past U+10FFFF
  EXPECT_EQ(first_byte_not_utf8("\xE2\x82"), 0U);          // cut short
}

}  // namespace
}  // namespace meshwright
