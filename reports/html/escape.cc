// SPDX-License-Identifier: Apache-2.0
#include "reports/html/escape.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "reports/records/sha256.h"
#include "sim/base/text.h"
#include "sim/base/utf8.h"

namespace meshwright::reports::html {
namespace {

// UTF-8 of the characters that change a line's direction (Unicode UAX 9), and line separators.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kInvisible{
    {{"\u200E", "[U+200E]"},
     {"\u200F", "[U+200F]"},
     {"\u061C", "[U+061C]"},
     {"\u202A", "[U+202A]"},
     {"\u202B", "[U+202B]"},
     {"\u202C", "[U+202C]"},
     {"\u202D", "[U+202D]"},
     {"\u202E", "[U+202E]"},
     {"\u2066", "[U+2066]"},
     {"\u2067", "[U+2067]"},
     {"\u2068", "[U+2068]"},
     {"\u2069", "[U+2069]"},
     {"\u2028", "[U+2028]"},
     {"\u2029", "[U+2029]"}}};

std::uint32_t six_bits(const std::string& hex, std::size_t bit) {
  std::uint32_t value = 0;
  for (std::size_t i = bit; i < bit + 6; ++i) {
    const std::size_t digit = i / 4;
    const char c = digit < hex.size() ? hex[digit] : '0';
    const auto nibble = static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    value = value << 1 | (nibble >> (3 - i % 4) & 1U);
  }
  return value;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  // File names and arguments may hold any byte; the page is UTF-8.
  for (const char c : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("[U+{:04X}]", byte);
    } else {
      out += c;
    }
  }
  for (const auto& [character, shown] : kInvisible) {
    if (contains(out, character)) out = replaced(out, character, shown);
  }
  return out;
}

std::string json_in_script(std::string_view json) {
  // '<' and the separators can stand only inside JSON strings, where the escapes mean the same.
  std::string out = replaced(json, "<", "\\u003c");
  out = replaced(out, "\u2028", "\\u2028");
  return replaced(out, "\u2029", "\\u2029");
}

std::string code_in_script(std::string_view code) {
  return replaced(replaced(code, "</", "\\u003c/"), "<!--", "\\u003c!--");
}

std::string csp_hash(std::string_view script) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256(script);
  std::string base64;
  for (std::size_t bit = 0; bit < 256; bit += 6) base64 += kAlphabet[six_bits(hex, bit)];
  return "'sha256-" + base64 + "='";  // 256 bits are 43 digits and one of padding
}

}  // namespace meshwright::reports::html
