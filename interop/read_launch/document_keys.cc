// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/document_keys.h"

#include <algorithm>
#include <cctype>

namespace meshwright::interop {
namespace {

bool same_in_keys(char a, char b) { return (a == '-' ? '_' : a) == (b == '-' ? '_' : b); }

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         c == '/';
}

// Behind a key stand its quote, blanks and a colon.
bool colon_follows(std::string_view rest) {
  if (!rest.empty() && (rest.front() == '"' || rest.front() == '\'')) rest.remove_prefix(1);
  const std::size_t at = rest.find_first_not_of(" \t");
  return at != std::string_view::npos && rest[at] == ':';
}

}  // namespace

bool says_key(std::string_view text, std::string_view key) {
  auto from = text.begin();
  while (true) {
    const auto* const found = std::search(from, text.end(), key.begin(), key.end(), same_in_keys);
    if (found == text.end()) return false;
    const auto at = static_cast<std::size_t>(found - text.begin());
    const bool begins = at == 0 || !is_of_word(text[at - 1]);
    if (begins && colon_follows(text.substr(at + key.size()))) return true;
    from = found + 1;
  }
}

}  // namespace meshwright::interop
