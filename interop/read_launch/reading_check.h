// SPDX-License-Identifier: Apache-2.0
// Whether enough of a launch was understood for a verdict.
#pragma once

#include <string>

#include "interop/read_launch/launch_record.h"

namespace meshwright::interop {

// Throws InputError where a size was not read, where adapters are trained, or where nothing of the
// layout was read. The message lists what was read and what was not, and the likely spelling.
void check_reading(const LaunchRecord& record, const std::string& file);

}  // namespace meshwright::interop
