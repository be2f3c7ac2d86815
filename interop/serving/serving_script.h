// SPDX-License-Identifier: Apache-2.0
// A service as a script of commands, a part for each host: every process has its own GPUs and
// ports, and those of one replica on several hosts know each other.
#pragma once

#include <string>

#include "interop/serving/replica_hosts.h"

namespace meshwright::interop {

// Throws InputError: the engine has no option for a size, or cannot spread a replica over hosts.
std::string serving_script(const ServingLaunch& launch, const ServingHosts& hosts);

}  // namespace meshwright::interop
