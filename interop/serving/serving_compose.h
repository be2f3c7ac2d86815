// SPDX-License-Identifier: Apache-2.0
// Docker compose files that start an inference engine: image, command, environment and GPUs of each
// service. Variables are those of the file .env and of `inputs`; others are unknown. Source:
// compose-spec, 05-services.md and 12-interpolation.md.
#pragma once

#include <string>

#include "interop/read_launch/values.h"
#include "interop/serving/serving_launch.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// Returns whether a service starts an engine. `values` are those of the whole file.
bool read_serving_compose(const Values& values, const std::string& file, const ShellInputs& inputs,
                          ServingLaunch& launch);

}  // namespace meshwright::interop
