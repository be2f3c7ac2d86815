// SPDX-License-Identifier: Apache-2.0
// Backends are shared objects (libmeshwright_cpu.so, _mpi, _cuda, _nccl) that the program opens
// when it needs them, so that planning links neither CUDA nor MPI. Each exports one C function,
// `meshwright_backend`, that returns its Backend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"

namespace meshwright::calibrate {

// Software that connects the ranks. torchrun states only the address of rank 0.
enum class Starter { mpi, torchrun };

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string name() const = 0;       // "cpu"
  [[nodiscard]] virtual std::string libraries() const = 0;  // "oneDNN 2.6.3", for --version
  // Empty when the device can be used, else one sentence that says why not (no driver, no device).
  [[nodiscard]] virtual std::string unavailable() const = 0;
  // Devices that a compute module can use on this host, one a rank; 0: as many ranks as there are
  // cores.
  [[nodiscard]] virtual int num_devices() const { return 0; }
  // A compute module's device for this rank; null from a communication module.
  [[nodiscard]] virtual std::unique_ptr<Compute> make_compute(int local_rank) = 0;
  // A communication module's world; initialises the library on the first call. Null from a compute
  // module.
  [[nodiscard]] virtual std::unique_ptr<Communicator> make_world(
      Compute& compute, Starter starter = Starter::mpi) = 0;
};

// The names of the backends that were built, in the order cpu, mpi, cuda, nccl (a generated
// source).
const std::vector<std::string>& built_modules();

// The communication module for this compute backend's pointers: mpi for cpu, nccl for cuda. A
// single GPU rank moves nothing and can do with mpi where nccl was not built. `ranks` 0: not known.
std::string communication_module(const std::string& compute_backend, int ranks);

// Opens a module. Looks in MESHWRIGHT_MODULE_PATH, beside the program, and in ../lib/meshwright.
// Throws SystemError that names the file and the loader's message. The module stays open.
Backend& open_backend(const std::string& name);

}  // namespace meshwright::calibrate
