// SPDX-License-Identifier: Apache-2.0
// What Megatron-Bridge's mixed_precision, optimizer, train and peft say of the job.
#pragma once

#include "interop/read_launch/launch_reading.h"

namespace meshwright::interop {

void read_megatron_bridge_job(LaunchReading& reading, const LaunchHints& hints);

}  // namespace meshwright::interop
