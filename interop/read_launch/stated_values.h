// SPDX-License-Identifier: Apache-2.0
// What the user states of a document with --set KEY=VALUE, in the place of what it says.
#pragma once

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"

namespace meshwright::interop {

// The key may be given without its sections ("ffn_hidden_size") if only one key ends so. A key with
// a section that the document lacks is added. Variables of the environment in the document
// (${NAME}) are not keys. Throws InputError if several keys end so.
Values with_stated(const Values& document, const LaunchHints& hints);

inline constexpr const char* kNamedBeside = "named beside the launch";

// A sequence length that the user states counts. Throws InputError if the launch says another.
void take_stated_length(LaunchRecord& record, const LaunchHints& hints);

// "[core_attn,mlp]" is two words, "'bf16'" one without its marks, null none.
std::vector<std::string> stated_words(const std::string& text);

}  // namespace meshwright::interop
