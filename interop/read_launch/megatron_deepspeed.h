// SPDX-License-Identifier: Apache-2.0
// The JSON that a command of Megatron-DeepSpeed names with --deepspeed_config.
#pragma once

#include <string>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"
#include "interop/shell/named_file.h"
#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// Adds the ZeRO stage and the optimizer's place to the options. The file stands in a here-document
// of the script, or beside it; else what it says is listed as not read.
void read_deepspeed_file(Values& options, const ShellScript& script, const ReadNamedFile& read,
                         LaunchRecord& record);

}  // namespace meshwright::interop
