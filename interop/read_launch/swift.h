// SPDX-License-Identifier: Apache-2.0
// ms-swift's command `megatron sft` or `megatron pt`: Megatron-LM's arguments with underscores and
// a word behind each switch, laid over defaults of its own.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

bool is_swift_command(std::string_view text);
LaunchRecord read_swift(std::string_view text, const std::string& file, const LaunchHints& hints,
                        const ReadNamedFile& read);

}  // namespace meshwright::interop
