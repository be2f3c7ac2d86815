// SPDX-License-Identifier: Apache-2.0
// One rank's device and the ranks that it talks to, opened, used and given up in one place.
#pragma once

#include <functional>
#include <string>

#include "calibrate/backends/backend.h"
#include "calibrate/launch/rank_place.h"
#include "sim/base/units.h"

namespace meshwright::app {

struct RankMachine {
  calibrate::Backend& compute_backend;
  calibrate::Backend& network_backend;
  calibrate::Compute& compute;
  calibrate::Communicator& world;
};

// Opens the machine of this rank, of `backend` cpu (with mpi) or cuda (with nccl), and works on it.
// An error on one rank ends all of them, and its line names rank, host and cause. Returns work's
// exit code.
int on_rank_machine(const std::string& backend, const calibrate::RankPlace& place, Seconds timeout,
                    const std::function<int(RankMachine&)>& work);

// Compares the ranks that a launcher started with those that MPI sees; returns a sentence if they
// differ. Without a common process manager each task is a job of its own.
std::string wrong_world(const calibrate::RankPlace& place, int world_size);

}  // namespace meshwright::app
