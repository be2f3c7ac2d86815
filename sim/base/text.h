// SPDX-License-Identifier: Apache-2.0
// Small functions on text that several folders need. Bytes of UTF-8 pass through unchanged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

// The parts between separators, empty ones included: "a,,b" is {"a", "", "b"}, "" is {""}.
std::vector<std::string> split(std::string_view text, char separator);
// The parts between white space, none of them empty.
std::vector<std::string> split_words(std::string_view text);
// The lines, without "\n" or "\r\n"; none behind the last end of a line.
std::vector<std::string> split_lines(std::string_view text);
// Adds a part to a list, behind a separator unless it is the first.
void append_to_list(std::string& list, std::string_view separator, std::string_view part);
// Without white space at its end.
std::string trimmed_right(std::string_view text);
// The text with each `from` (not empty) replaced by `to`, left to right.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);
// ASCII letters in lower case.
std::string lower_case(std::string_view text);
// Tells whether both are the same but for the case of ASCII letters.
bool same_letters(std::string_view a, std::string_view b);
bool contains(std::string_view text, std::string_view part);
bool contains_any_case(std::string_view text, std::string_view part);

}  // namespace meshwright
