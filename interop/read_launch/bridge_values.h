// SPDX-License-Identifier: Apache-2.0
// Values of Megatron-Bridge before and after they are read.
#pragma once

#include "interop/read_launch/values.h"

namespace meshwright::interop {

// Without Python's None; a list of lists of stages becomes one word.
Values plain_bridge_values(const Values& typed);
// Marks what changes no cost.
void pass_over_bridge(Values& values);

}  // namespace meshwright::interop
