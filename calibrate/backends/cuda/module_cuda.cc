// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/backend.h"
#include "calibrate/backends/cuda/availability.h"
#include "calibrate/backends/cuda/compute_cuda.h"
#include "calibrate/backends/cuda/device.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

class CudaBackend final : public Backend {
 public:
  [[nodiscard]] std::string name() const override { return "cuda"; }
  [[nodiscard]] std::string libraries() const override { return cuda::libraries(); }
  [[nodiscard]] std::string unavailable() const override { return cuda::why_unavailable(); }
  [[nodiscard]] int num_devices() const override { return cuda::visible_devices(); }
  [[nodiscard]] std::unique_ptr<Compute> make_compute(int local_rank) override {
    const std::string reason = cuda::why_unavailable();
    if (!reason.empty()) throw SystemError("backend cuda: " + reason);
    return cuda::make_compute(local_rank);
  }
  [[nodiscard]] std::unique_ptr<Communicator> make_world(Compute& /*compute*/,
                                                         Starter /*starter*/) override {
    return nullptr;
  }
};

}  // namespace
}  // namespace meshwright::calibrate

extern "C" [[gnu::visibility("default")]] meshwright::calibrate::Backend* meshwright_backend() {
  static meshwright::calibrate::CudaBackend module;
  return &module;
}
