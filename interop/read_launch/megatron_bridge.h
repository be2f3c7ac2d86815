// SPDX-License-Identifier: Apache-2.0
// Overrides of Megatron-Bridge as a launch.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"

namespace meshwright::interop {

// Throws InputError with file and line.
LaunchRecord read_megatron_bridge(std::string_view text, const std::string& file,
                                  const LaunchHints& hints);
// The same of values that stood elsewhere, on a command line.
void read_megatron_bridge_values(Values values, const LaunchHints& hints, LaunchRecord& record);

}  // namespace meshwright::interop
