// SPDX-License-Identifier: Apache-2.0
// A comparison in words and tables.
#pragma once

#include <string>

#include "sim/json/records.h"

namespace meshwright::reports {

// "/cluster/gpus_per_node" is "cluster: GPUs per node".
// "GPU" or "core", with "s" for more than one: "core" where all reports are of cores.
std::string_view device_noun(const Json& comparison, std::int64_t count = 1);

std::string words_of_pointer(const std::string& pointer);

// Who is fastest and by how much, and whose intervals overlap. `comparison`: all of it but this.
std::string comparison_sentence(const Json& comparison);

}  // namespace meshwright::reports
