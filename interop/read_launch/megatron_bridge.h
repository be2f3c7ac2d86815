// SPDX-License-Identifier: Apache-2.0
// Overrides of Megatron-Bridge as a launch.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"

namespace meshwright::interop {

// Throws InputError with file and line.
LaunchRecord read_megatron_bridge(std::string_view text, const std::string& file,
                                  const LaunchHints& hints);

}  // namespace meshwright::interop
