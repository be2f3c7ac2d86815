// SPDX-License-Identifier: Apache-2.0
// A report's record, read back: held against its JSON Schema before anything relies on its members.
#pragma once

#include <string>

#include "sim/record/json.h"

namespace meshwright::reports {

// Throws InputError: the record of another kind or version, or a member that is missing, unknown or
// of another type, with its JSON pointer.
void require_report(const Json& json, const std::string& file);

}  // namespace meshwright::reports
