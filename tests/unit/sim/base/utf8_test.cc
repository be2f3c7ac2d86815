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

TEST(Utf8, BytesOfNoCharacterAreReplacedAndCounted) {
  EXPECT_EQ(valid_utf8("a\xC3\xA9"), "a\xC3\xA9");
  EXPECT_EQ(valid_utf8("a\xFF"
                       "b\xC3"),
            "a\uFFFDb\uFFFD");
  EXPECT_EQ(num_characters(""), 0U);
  EXPECT_EQ(num_characters("a\xC3\xA9\xE2\x82\xAC"), 3U);
  EXPECT_EQ(num_characters("a\xFF\xC3"), 3U);
}

TEST(Utf8, ATextBeginsWithACharacter) {
  EXPECT_EQ(first_character("\xE2\x82\xAC.").code, U'\u20AC');
  EXPECT_EQ(first_character("\xE2\x82\xAC.").bytes, 3U);
  EXPECT_EQ(first_character("\xE2\x82").code, U'\uFFFD');
  EXPECT_EQ(first_character("\xE2\x82").bytes, 1U);
}

}  // namespace
}  // namespace meshwright
