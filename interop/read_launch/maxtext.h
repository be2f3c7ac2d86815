// SPDX-License-Identifier: Apache-2.0
// MaxText's launches, which are not read: what they say of sizes, in this program's words.
#pragma once

#include <string>
#include <vector>

#include "interop/read_launch/values.h"

namespace meshwright::interop {

// All sizes that the settings name, and the command that asks about them.
std::string maxtext_hint(const std::vector<Value>& settings);

}  // namespace meshwright::interop
