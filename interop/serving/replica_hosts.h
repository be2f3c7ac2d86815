// SPDX-License-Identifier: Apache-2.0
// Which devices of which host each replica of a service takes. Larger replicas come first, each on
// the next free devices of a host; a replica larger than a host takes whole hosts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interop/serving/serving_launch.h"

namespace meshwright::interop {

enum class ServedDevice : std::uint8_t { nvidia_gpu, amd_gpu, core };

// The hosts that a service runs on, all alike.
struct ServingHosts {
  int devices = 0;  // of a host; 0: not known, all replicas are on one
  ServedDevice device = ServedDevice::nvidia_gpu;
  bool cdna4 = false;  // AMD's MI350 series, in place of MI300
};
// Variable that names the devices of a process: CUDA_VISIBLE_DEVICES, of AMD's runtime
// HIP_VISIBLE_DEVICES; empty: none.
std::string_view visible_devices_variable(ServedDevice device);
// "1 GPU", "4 GPUs", "2 cores".
std::string devices_text(ServedDevice device, int count);

// What one host runs of a replica.
struct PlacedReplica {
  std::size_t pool = 0;               // of the launch
  int replica = 0;                    // of the pool, from 0
  int host = 0;                       // from 0
  int first_device = 0, devices = 1;  // of the host
  int node = 0, nodes = 1;            // of the replica
  int first_host = 0;                 // of the replica: where it is led
};
// Hosts that a replica of the pool takes. Throws InputError: it does not fill whole hosts.
int hosts_of_replica(const LaunchedPool& pool, const ServingHosts& hosts);
// By host, on each in the order of its devices. Throws InputError as hosts_of_replica.
std::vector<PlacedReplica> placed_replicas(const ServingLaunch& launch, const ServingHosts& hosts);

}  // namespace meshwright::interop
