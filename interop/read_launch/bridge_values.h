// SPDX-License-Identifier: Apache-2.0
// Values of Megatron-Bridge before and after they are read.
#pragma once

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"

namespace meshwright::interop {

// Without Python's None; a list of lists of stages becomes one word.
Values plain_bridge_values(const Values& typed);
// Throws InputError at a size of the model that is not the named one's, which is judged.
void check_bridge_model(Values& values, const LaunchHints& hints);
// Marks what changes no cost.
void pass_over_bridge(Values& values);

}  // namespace meshwright::interop
