// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <array>

#include "calibrate/backends/backend.h"
#include "calibrate/backends/mpi/world.h"

namespace meshwright::calibrate {
namespace {

class MpiBackend : public Backend {
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

  [[nodiscard]] std::unique_ptr<Communicator> make_world(Compute&, Starter starter) override {
    if (starter == Starter::torchrun) {
      throw SystemError(
          "torchrun starts no MPI, over which ranks on cores talk; use mpirun or srun");
    }
    return make_mpi_world();
  }
};

}  // namespace
}  // namespace meshwright::calibrate

extern "C" __attribute__((visibility("default"))) meshwright::calibrate::Backend*
meshwright_backend() {
  static meshwright::calibrate::MpiBackend module;
  return &module;
}
