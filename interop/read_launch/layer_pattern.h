// SPDX-License-Identifier: Apache-2.0
// Which layers an option of Megatron-LM is about: a Python list of 0 and 1 with +, * and brackets,
// such as "[0]*3+[1]*58" or "([1]*3+[0])*2".
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace meshwright::interop {

// Nothing where the text is no such list, or has more than 100,000 numbers.
std::optional<std::vector<int>> layer_pattern(const std::string& text);

}  // namespace meshwright::interop
