// SPDX-License-Identifier: Apache-2.0
// Trials as a file: an array of observations, or an object that holds one under "observations".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/step/observation.h"

namespace meshwright::app {

// Throws InputError.
std::vector<Observation> observations_from_json(const nlohmann::json& json,
                                                const std::string& file);

}  // namespace meshwright::app
