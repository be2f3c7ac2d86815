// SPDX-License-Identifier: Apache-2.0
// erase() of an ordered_json moves the values behind the key and, in nlohmann/json 3.11.2, leaves
// them without their parent, which JSON_DIAGNOSTICS needs: later copies stop the program.
#pragma once

#include <string_view>

#include "sim/record/json.h"

namespace meshwright {

// `json` as it is where it is no object.
Json without_key(Json json, std::string_view key);

}  // namespace meshwright
