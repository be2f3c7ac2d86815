// SPDX-License-Identifier: Apache-2.0
// Whole-number arithmetic of a shell's $((...)): + - * / % and brackets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::interop {

// Nothing where a name has no value (`value_of` returns ""), something else is written, a divisor
// is 0, or a number has more than 15 digits.
std::optional<std::int64_t> shell_arithmetic(
    std::string_view expression, const std::function<std::string(const std::string&)>& value_of);

}  // namespace meshwright::interop
