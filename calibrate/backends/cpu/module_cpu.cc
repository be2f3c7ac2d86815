// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cpu/compute_cpu.h"
#include "calibrate/backends/module.h"

namespace meshwright::calibrate {
namespace {

class CpuModule final : public Module {
 public:
  [[nodiscard]] std::string name() const override { return "cpu"; }
  [[nodiscard]] std::string libraries() const override { return cpu::libraries(); }
  [[nodiscard]] std::string unavailable() const override { return ""; }
  [[nodiscard]] std::unique_ptr<Compute> make_compute(int /*local_rank*/) override {
    return cpu::make_compute();
  }
  [[nodiscard]] std::unique_ptr<Communicator> make_world(Compute& /*compute*/) override {
    return nullptr;
  }
};

}  // namespace
}  // namespace meshwright::calibrate

extern "C" [[gnu::visibility("default")]] meshwright::calibrate::Module* meshwright_module() {
  static meshwright::calibrate::CpuModule module;
  return &module;
}
