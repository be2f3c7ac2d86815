// SPDX-License-Identifier: Apache-2.0
// Slurm's lists of hosts: "tux[0-3,12,018-020],login" (man scontrol, topology.conf). Zeros in front
// stay; several brackets in one name multiply.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/place.h"

namespace meshwright::interop {

inline constexpr std::size_t kMostHosts = 100'000;

// Throws InputError at `place`: a bracket that is not closed, a range that is none, more than
// 100,000 names.
std::vector<std::string> expanded_hostlist(std::string_view text, const Place& place);

}  // namespace meshwright::interop
