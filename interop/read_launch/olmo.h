// SPDX-License-Identifier: Apache-2.0
// OLMo's YAML (allenai/OLMo, configs/official and configs/official-1124, olmo/config.py of 2024):
// PyTorch FSDP1 or DDP. OLMo-core's Python scripts are not read.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/launch_text.h"

namespace meshwright::interop {

// Recognises OLMo by keys for which llm-foundry, whose file is similar, has other names.
bool is_olmo(const LaunchText& text);

// Throws InputError: text that is no YAML, a value out of range, or a size that is missing.
LaunchRecord read_olmo(std::string_view text, const std::string& file, const LaunchHints& hints);

}  // namespace meshwright::interop
