// SPDX-License-Identifier: Apache-2.0
#include "reports/html/escape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/record/json.h"

namespace meshwright::reports::html {
namespace {

TEST(Escape, KeepsMarkupAsText) {
  EXPECT_EQ(escape("<b> & \"x\" 'y'"), "&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;");
}

TEST(Escape, ShowsCharactersThatTurnALineAround) {
  EXPECT_EQ(escape("a\u202Eb\u2066c"), "a[U+202E]b[U+2066]c");
  EXPECT_EQ(escape("a\nb"), "a[U+000A]b");
}

TEST(Escape, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(escape("caf\xC3\xA9 \xE2\x82\xAC"), "caf\xC3\xA9 \xE2\x82\xAC");
  EXPECT_EQ(escape("a\xFF"
                   "b\xC3"),
            "a\uFFFDb\uFFFD");
}

TEST(Escape, JsonInAScriptIsTheSameValueAndCannotEndTheScript) {
  const std::string text = Json{{"name", "</script><!--\u2028\u2029 \"quoted\" \\"}}.dump();
  const std::string embedded = json_in_script(text);
  EXPECT_THAT(embedded, testing::Not(testing::HasSubstr("<")));
  EXPECT_THAT(embedded, testing::Not(testing::HasSubstr("\u2028")));
  EXPECT_EQ(Json::parse(embedded), Json::parse(text));
}

TEST(Escape, CodeCannotEndItsScript) {
  EXPECT_EQ(code_in_script("s='</script>';r=/</g"), "s='\\u003c/script>';r=/\\u003c/g");
  EXPECT_EQ(code_in_script("'<!--'"), "'\\u003c!--'");
}

// printf abc | openssl dgst -sha256 -binary | base64
TEST(Escape, PolicyHashIsBase64OfTheDigest) {
  EXPECT_EQ(csp_hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
}

}  // namespace
}  // namespace meshwright::reports::html
