// SPDX-License-Identifier: Apache-2.0
// Numbers behind labels in a line of a log.
#pragma once

#include <optional>
#include <string_view>

namespace meshwright::interop {

// The text behind a label, blanks left out; nothing where the label is not there.
std::optional<std::string_view> behind(std::string_view line, std::string_view label);

// "1234.5", "1,234", "2.05K", "1.2M" at the beginning of a text.
std::optional<double> number_at(std::string_view text);

// All want the label; the last two a count below 10^9 and a number above 0.
std::optional<double> number_behind(std::string_view line, std::string_view label);
std::optional<int> count_behind(std::string_view line, std::string_view label);
std::optional<double> positive_behind(std::string_view line, std::string_view label);

// The text of a key's value in JSON or in a printed Python dictionary, to the end of the line:
// quotes, ":" and "=" between them are left out.
std::optional<std::string_view> value_behind(std::string_view line, std::string_view key);
// A positive number of a key.
std::optional<double> positive_value(std::string_view line, std::string_view key);
// The same where all digits are printed: "1.28e+6" has been rounded.
std::optional<double> exact_value(std::string_view line, std::string_view key);

}  // namespace meshwright::interop
