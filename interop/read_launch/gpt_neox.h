// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX's YAML, mostly written as JSON with comments: DeepSpeed's keys beside those of the model
// and of its parallel sizes (megatron/neox_arguments, v1.0 of 2022 to 2024). Keys may have "-" for
// "_", and the last of a key holds.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/launch_text.h"

namespace meshwright::interop {

// Recognises GPT-NeoX by keys that DeepSpeed's JSON and other launchers lack.
bool is_gpt_neox(const LaunchText& text);

// Throws InputError: text that is no YAML, a value out of range, a size that is missing, layers
// that are no transformer's, or a vocabulary that nobody says.
LaunchRecord read_gpt_neox(std::string_view text, const std::string& file,
                           const LaunchHints& hints);

}  // namespace meshwright::interop
