// SPDX-License-Identifier: Apache-2.0
// Overrides of a recipe on a command line, as Hydra takes them: model.tensor_model_parallel_size=2.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

// Counts the words that override sizes, batches or trainers, to recognise the format.
int count_overrides(std::string_view text);

// A command of Megatron-Bridge or, with a trainer, of NeMo.
// Throws InputError as their readers do.
LaunchRecord read_override_script(std::string_view text, const std::string& file,
                                  const LaunchHints& hints, const ReadNamedFile& read = {});

}  // namespace meshwright::interop
