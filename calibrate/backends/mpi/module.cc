// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/module.h"

#include <mpi.h>

#include <array>
#include <cstdlib>

#include "calibrate/backends/mpi/check.h"
#include "calibrate/backends/mpi/communicator.h"

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

class MpiModule : public Module {
 public:
  [[nodiscard]] std::string name() const override { return "mpi"; }

  // "Open MPI v4.1.4": the first part of the library's own, longer, text.
  [[nodiscard]] std::string libraries() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string whole(text.data(), static_cast<std::size_t>(length));
    return whole.substr(0, whole.find_first_of(",\n"));
  }

  [[nodiscard]] std::string unavailable() const override { return ""; }
  [[nodiscard]] std::unique_ptr<Compute> make_compute(int) override { return nullptr; }

  [[nodiscard]] std::unique_ptr<Communicator> make_world(Compute&) override {
    initialise_once();
    MPI_Comm world = MPI_COMM_NULL;
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
    return std::make_unique<MpiCommunicator>(world);
  }
};

}  // namespace
}  // namespace meshwright::calibrate

extern "C" __attribute__((visibility("default"))) meshwright::calibrate::Module*
meshwright_module() {
  static meshwright::calibrate::MpiModule module;
  return &module;
}
