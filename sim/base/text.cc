// SPDX-License-Identifier: Apache-2.0
#include "sim/base/text.h"

#include <boost/algorithm/string.hpp>

namespace meshwright {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  boost::split(parts, text, [separator](char c) { return c == separator; });
  return parts;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  boost::split(words, text, boost::is_space(std::locale::classic()), boost::token_compress_on);
  std::erase(words, "");
  return words;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

void append_to_list(std::string& list, std::string_view separator, std::string_view part) {
  if (!list.empty()) list += separator;
  list += part;
}

std::string trimmed_right(std::string_view text) {
  return boost::trim_right_copy(std::string(text), std::locale::classic());
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  return boost::replace_all_copy(std::string(text), from, to);
}

std::string lower_case(std::string_view text) {
  return boost::to_lower_copy(std::string(text), std::locale::classic());
}

bool same_letters(std::string_view a, std::string_view b) {
  return boost::iequals(a, b, std::locale::classic());
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool contains_any_case(std::string_view text, std::string_view part) {
  return boost::icontains(text, part, std::locale::classic());
}

}  // namespace meshwright
