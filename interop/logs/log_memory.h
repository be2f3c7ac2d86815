// SPDX-License-Identifier: Apache-2.0
// The most memory that a log's lines say.
#pragma once

#include <string_view>

#include "interop/logs/training_log.h"

namespace meshwright::interop {

// Reads the peak memory of one line; the largest value of all lines is kept.
void read_peak_memory(std::string_view line, TrainingLog& log);

}  // namespace meshwright::interop
