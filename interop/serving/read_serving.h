// SPDX-License-Identifier: Apache-2.0
// Reads how a service is started: a script or command of vLLM, SGLang or TensorRT-LLM, a docker
// compose file, or one of the formats of serving_formats.h.
#pragma once

#include <string>
#include <string_view>

#include "interop/serving/serving_launch.h"
#include "interop/shell/named_file.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// Tells whether a text names a server of an inference engine.
bool names_serving_engine(std::string_view text);

// Notes GPUs that a pool has or lacks beside those that its layout uses.
void check_gpus(ServingLaunch& launch);

// The first service of a text; the others are its `more`. Throws InputError: nothing in the text
// starts an engine, or it is broken.
ServingLaunch read_serving(std::string_view text, const std::string& file,
                           const ShellInputs& inputs = {});

}  // namespace meshwright::interop
