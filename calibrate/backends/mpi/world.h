// SPDX-License-Identifier: Apache-2.0
// All ranks of the job. Both modules that hold MPI (mpi, nccl) start it here, whichever comes
// first.
#pragma once

#include <memory>

#include "calibrate/backends/mpi/communicator.h"

namespace meshwright::calibrate {

// Initialises MPI on the first call and ends it when the program exits.
std::unique_ptr<MpiCommunicator> make_mpi_world();

}  // namespace meshwright::calibrate
