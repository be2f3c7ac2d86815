// SPDX-License-Identifier: Apache-2.0
// Kubernetes manifests that start an inference engine.
#pragma once

#include <string>
#include <string_view>

#include "interop/serving/serving_launch.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

// Returns whether a document of the text starts an engine. Throws InputError where it is no YAML.
bool read_serving_manifest(std::string_view text, const std::string& file,
                           const ReadNamedFile& read, ServingLaunch& launch);

}  // namespace meshwright::interop
