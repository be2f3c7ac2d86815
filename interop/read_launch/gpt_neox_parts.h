// SPDX-License-Identifier: Apache-2.0
// The parts of read_gpt_neox.
#pragma once

#include <string>

#include "interop/read_launch/launch_reading.h"

namespace meshwright::interop {

// Sizes, position embedding, MLP, norms, biases, experts and vocabulary.
void read_gpt_neox_model(LaunchReading& reading, const LaunchHints& hints, const std::string& file);
// Marks keys that change neither time nor memory of a step.
void pass_over_neox_model(Values& values);

}  // namespace meshwright::interop
