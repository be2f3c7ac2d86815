// SPDX-License-Identifier: Apache-2.0
// What a log says about the run as a whole: how large the model is, how long its sequences are, and
// which device it runs on.
#pragma once

#include <string_view>

#include "interop/logs/training_log.h"

namespace meshwright::interop {

// Reads the facts of one line. The last number of parameters and sequence length count, and the
// first device.
void read_run_facts(std::string_view line, TrainingLog& log);

}  // namespace meshwright::interop
