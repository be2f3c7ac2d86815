// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/mpi/world.h"

#include <cstdlib>

#include "calibrate/backends/mpi/check.h"

namespace meshwright::calibrate {
namespace {

void finalize_at_exit() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Finalize();
}

// Only the main thread calls MPI.
void initialise_once() {
  int initialised = 0;
  check_mpi(MPI_Initialized(&initialised), "MPI_Initialized");
  if (initialised != 0) return;
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  std::atexit(finalize_at_exit);
}

}  // namespace

std::unique_ptr<MpiCommunicator> make_mpi_world() {
  initialise_once();
  MPI_Comm world = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(world);
}

}  // namespace meshwright::calibrate
