// SPDX-License-Identifier: Apache-2.0
// A run of Megatron-LM, Megatron Core's pretraining scripts or Megatron-DeepSpeed: from a command
// line, a shell script, or the argument block of a log.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

// Counts the options of Megatron-LM in a text, at most up to `enough`, to recognise the format.
int count_megatron_options(std::string_view text, int enough);
bool has_megatron_argument_block(std::string_view text);

// Throws InputError with file and line: a value that cannot be, one that is not known and is
// needed, options that Megatron-LM refuses together.
LaunchRecord read_megatron_script(std::string_view text, const std::string& file,
                                  const LaunchHints& hints, const ReadNamedFile& read = {});
LaunchRecord read_megatron_argument_block(std::string_view text, const std::string& file,
                                          const LaunchHints& hints);

}  // namespace meshwright::interop
