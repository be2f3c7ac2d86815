// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "calibrate/backends/backend.h"
#include "calibrate/backends/cuda/availability.h"
#include "calibrate/backends/mpi/world.h"
#include "calibrate/backends/nccl/check.h"
#include "calibrate/backends/nccl/communicator.h"
#include "calibrate/backends/nccl/shared_device.h"
#include "calibrate/backends/nccl/socket_ranks.h"
#include "calibrate/backends/nccl/tuner_listener.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

class NcclBackend : public Backend {
 public:
  [[nodiscard]] std::string name() const override { return "nccl"; }

  // NCCL writes 2.28.9 as 10000 * 2 + 100 * 28 + 9 (from 2.9 on).
  [[nodiscard]] std::string libraries() const override {
    int version = 0;
    NCCL_CHECK(nullptr, ncclGetVersion(&version));
    return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }

  [[nodiscard]] std::string unavailable() const override { return cuda::why_unavailable(); }
  [[nodiscard]] std::unique_ptr<Compute> make_compute(int) override { return nullptr; }

  // The device is the current one, which making the cuda module's compute has chosen.
  [[nodiscard]] std::unique_ptr<Communicator> make_world(Compute&, Starter starter) override {
    const std::string reason = unavailable();
    if (!reason.empty()) throw SystemError("backend nccl: " + reason);
    std::unique_ptr<HostRanks> host;
    if (starter == Starter::torchrun) {
      host = meet_as_torchrun_says();
    } else {
      host = make_mpi_world();
    }
    allow_shared_devices(*host);
    listen_to_choices();
    ncclUniqueId id{};
    if (host->rank() == 0) NCCL_CHECK(nullptr, ncclGetUniqueId(&id));
    host->host_broadcast(&id, sizeof id, 0);
    ncclComm_t device = nullptr;
    NCCL_CHECK(nullptr, ncclCommInitRank(&device, host->size(), id, host->rank()));
    return std::make_unique<NcclCommunicator>(std::move(host), device);
  }
};

}  // namespace
}  // namespace meshwright::calibrate

extern "C" __attribute__((visibility("default"))) meshwright::calibrate::Backend*
meshwright_backend() {
  static meshwright::calibrate::NcclBackend module;
  return &module;
}
