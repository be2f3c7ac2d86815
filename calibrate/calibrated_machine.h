// SPDX-License-Identifier: Apache-2.0
// Checks and notes of a calibration about its machine: whether a profile can be made on it at all,
// what it is before any point, and what its points tell about it afterwards.
#pragma once

#include <string>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/profile/profile.h"

namespace meshwright::calibrate {

struct RankSlots {
  int num_nodes = 1, num_ranks = 1;
};

// Throws SystemError, on every rank, where ranks take turns on a GPU: such times mean nothing.
void refuse_shared_devices(Communicator& world, const DeviceDescription& device);

// Free memory of the device that has the least: every rank plans the same points by it. Collective.
Bytes least_free_memory(HostRanks& world, const DeviceDescription& device);

// The machine as far as its ranks show it, without any number. `profile` has its host and date.
Cluster measured_cluster(const RankSlots& slots, const DeviceDescription& device,
                         const Profile& profile);

// Throws SystemError where this machine is none of `base`.
void check_onto(const Cluster& base, const Cluster& measured);

// Tells whether all ranks, each of which NCCL reads them for, have the same. Collective.
bool same_nccl_variables(Communicator& world, const MachineDescription& machine);

// One sentence where points were measured while a device was held back; else empty.
std::string throttled_words(const std::vector<MeasuredPoint>& points);
// Sentence on the number of noisy points and the noisiest one; empty: none.
std::string noisy_words(const std::vector<MeasuredPoint>& points);

// One sentence where all-reduces over neighbours take much less time than over ranks that are none:
// pairs have wires of their own. Else empty.
std::string neighbours_words(const std::vector<MeasuredPoint>& points);

// Tells whether NCCL's tuner let switches reduce (NVLS): "chosen by NCCL", "not chosen"; empty
// where it did not say what it chose.
std::string reduction_in_switch(const std::vector<MeasuredPoint>& points);

}  // namespace meshwright::calibrate
