// SPDX-License-Identifier: Apache-2.0
// Access to the files that a launch names.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace meshwright::interop {

// Returns the text of a file that a launch names, or nothing if it is not there.
using ReadNamedFile = std::function<std::optional<std::string>(const std::string& name)>;

}  // namespace meshwright::interop
