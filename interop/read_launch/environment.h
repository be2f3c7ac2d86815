// SPDX-License-Identifier: Apache-2.0
// Variables of the environment that change how fast a run is, or what it holds in memory: those of
// CUDA, NCCL, PyTorch and Transformer Engine. None is priced; each is named with what it does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// Nothing: the value is the usual one, or no cost hangs on the name.
std::optional<EnvironmentNote> environment_note(const std::string& name, const std::string& value,
                                                const Place& place);

// Reads the variables that a script exports or sets on its launch command (NAME=VALUE, -x
// NAME=VALUE, --env).
void read_environment(const ShellScript& script, const ShellCommand& command,
                      const std::string& file, LaunchRecord& record);
// The words of the launch command, its launcher's devices, and the environment.
void read_start(const ShellCommand& command, const ShellScript& script, const std::string& file,
                LaunchRecord& record);
// Keys of a configuration below "env_vars." or the like.
void read_environment(Values& values, std::string_view prefix, LaunchRecord& record);

}  // namespace meshwright::interop
