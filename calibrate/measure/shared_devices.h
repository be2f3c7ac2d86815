// SPDX-License-Identifier: Apache-2.0
// Ranks that hold the same GPU: a trial may run on them, right and slow; no profile is made of
// them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

// A host and what names a device there.
using DeviceId = std::pair<std::string, std::string>;

// Device of every rank. A rank that states none (empty) is assumed to have a device of its own.
std::vector<DeviceId> device_ids(Communicator& world, const std::string& mine);

// "ranks 0 and 2 share the GPU 0000:01:00.0 of node1 ..."; empty where every rank has its own.
std::string shared_device(const std::vector<DeviceId>& device_of_rank);

// The value under `key`; empty where there is none.
std::string detail(const std::vector<std::pair<std::string, std::string>>& details,
                   const std::string& key);

}  // namespace meshwright::calibrate
