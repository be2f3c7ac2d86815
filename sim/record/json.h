// SPDX-License-Identifier: Apache-2.0
// The one JSON type. Keys keep their order, so that a file that is read and written again is the
// same.
#pragma once

#include <nlohmann/json.hpp>

namespace meshwright {

using Json = nlohmann::ordered_json;

}  // namespace meshwright
