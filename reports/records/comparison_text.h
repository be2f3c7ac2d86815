// SPDX-License-Identifier: Apache-2.0
// A comparison in words and tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reports/records/comparison.h"

namespace meshwright::reports {

// "GPU" or "core", with "s" for more than one: "core" where all reports are of cores.
std::string_view device_noun(const Comparison& comparison, std::int64_t count = 1);

// "/cluster/gpus_per_node" is "cluster: GPUs per node".
std::string words_of_pointer(const std::string& pointer);

// Sentence on the fastest report, its lead, and the reports whose intervals overlap.
std::string comparison_sentence(const Comparison& comparison);

}  // namespace meshwright::reports
