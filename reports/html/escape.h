// SPDX-License-Identifier: Apache-2.0
// Foreign text inside a page stays text: a model may be called </script>.
#pragma once

#include <string>
#include <string_view>

namespace meshwright::reports::html {

// For element content and double-quoted attributes. Control and direction-changing characters
// (U+202E turns a line around) become visible, as [U+202E].
std::string escape(std::string_view text);

// JSON for a <script type="application/json"> block: no '<' can end it, and U+2028 and U+2029 are
// escaped. The result is the same JSON value.
std::string json_in_script(std::string_view json);

// JavaScript for a <script> block: no "</" and no "<!--" of its own can end or open one.
std::string code_in_script(std::string_view code);

// 'sha256-...' of a script's text, for the Content-Security-Policy.
std::string csp_hash(std::string_view script);

}  // namespace meshwright::reports::html
