// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/backend.h"
#include "calibrate/backends/cpu/compute_cpu.h"

namespace meshwright::calibrate {
namespace {

class CpuBackend final : public Backend {
 public:
  [[nodiscard]] std::string name() const override { return "cpu"; }
  [[nodiscard]] std::string libraries() const override { return cpu::libraries(); }
  [[nodiscard]] std::string unavailable() const override { return ""; }
  [[nodiscard]] std::unique_ptr<Compute> make_compute(int /*local_rank*/) override {
    return cpu::make_compute();
  }
  [[nodiscard]] std::unique_ptr<Communicator> make_world(Compute& /*compute*/,
                                                         Starter /*starter*/) override {
    return nullptr;
  }
};

}  // namespace
}  // namespace meshwright::calibrate

extern "C" [[gnu::visibility("default")]] meshwright::calibrate::Backend* meshwright_backend() {
  static meshwright::calibrate::CpuBackend module;
  return &module;
}
