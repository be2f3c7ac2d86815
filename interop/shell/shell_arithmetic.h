// SPDX-License-Identifier: Apache-2.0
// Whole-number arithmetic of a shell's $((...)) and ((...)): + - * / %, comparisons, && || ! and
// brackets. True is 1, false 0.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::interop {

// Returns nothing if the expression is not understood, or if its value depends on a name without a
// value (`value_of` returns ""), a division by 0, or a number of more than 15 digits.
std::optional<std::int64_t> shell_arithmetic(
    std::string_view expression, const std::function<std::string(const std::string&)>& value_of);

}  // namespace meshwright::interop
