// SPDX-License-Identifier: Apache-2.0
// Several ranks on one GPU: enough to try the program on a small machine, never to time anything.
//
// NCCL up to 2.29 refuses two ranks with the same host and PCI address ("Duplicate GPU detected").
// It takes NCCL_HOSTID for the host where that is set, so ranks that name different hosts pass, and
// talk over sockets.
#pragma once

#include <string>
#include <vector>

#include "calibrate/backends/host_ranks.h"

namespace meshwright::calibrate {

struct DevicePlace {
  std::string host, pci_bus_id;
};

// Tells whether two ranks hold the same device.
bool any_shared(const std::vector<DevicePlace>& places);
bool one_host(const std::vector<DevicePlace>& places);

// Collective over `ranks`, before NCCL's first call. Where a device is shared it sets NCCL_HOSTID
// and, on one host, NCCL_SOCKET_IFNAME=lo, unless the user has set them, and rank 0 says so on
// stderr.
void allow_shared_devices(HostRanks& ranks);

}  // namespace meshwright::calibrate
