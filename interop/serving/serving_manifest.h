// SPDX-License-Identifier: Apache-2.0
// Kubernetes manifests and docker compose files that start an inference engine.
#pragma once

#include <string>
#include <string_view>

#include "interop/serving/serving_launch.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// Returns whether a document of the text starts an engine. Throws InputError where it is no YAML.
// `inputs` states variables that other objects of the cluster set.
bool read_serving_manifest(std::string_view text, const std::string& file,
                           const ShellInputs& inputs, ServingLaunch& launch);

}  // namespace meshwright::interop
