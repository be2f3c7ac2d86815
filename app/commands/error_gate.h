// SPDX-License-Identifier: Apache-2.0
// The limit that validate --max-error sets.
#pragma once

#include <string>
#include <string_view>

namespace meshwright::app {

// "10%" or "0.1". Throws InputError, which names `flag`.
double share_of(const std::string& flag, const std::string& text);

// Says whether `error` is within `limit`, both shares, and returns the exit code. `what`: "median
// absolute error of steps".
int error_gate(std::string_view what, double error, double limit);

}  // namespace meshwright::app
