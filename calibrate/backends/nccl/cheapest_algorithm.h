// SPDX-License-Identifier: Apache-2.0
// Which algorithm and protocol NCCL takes, read from the table of expected times that it hands to a
// tuner plugin (version 4): rows tree, ring, collnet direct, collnet chain, nvls, nvls tree, pat;
// columns LL, LL128, simple; -1: not possible here.
#pragma once

#include <span>
#include <string>

namespace meshwright::calibrate {

// The cheapest entry of a table of rows of `protocols`, such as "ring simple"; empty: none.
std::string cheapest_algorithm(std::span<const float> table, int protocols);

}  // namespace meshwright::calibrate
