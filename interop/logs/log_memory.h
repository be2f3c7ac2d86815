// SPDX-License-Identifier: Apache-2.0
// The most memory that a log's lines say.
#pragma once

#include <string_view>

#include "interop/logs/training_log.h"

namespace meshwright::interop {

// Of one line; the most of all lines stays.
void read_peak_memory(std::string_view line, TrainingLog& log);

}  // namespace meshwright::interop
