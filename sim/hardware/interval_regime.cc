// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/interval_regime.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/shipped_spreads.h"

namespace meshwright {
namespace {

bool compared_with_runs(const std::string& framework) {
  const auto& compared = shipped::kComparedFrameworks;
  return std::find(compared.begin(), compared.end(), framework) != compared.end();
}

// Names the software in a sentence.
std::string named_software(const Cluster& cluster) {
  const std::string& name = cluster.framework.name;
  if (name.empty()) return "name the training software (--framework)";
  if (cluster.framework_assumed) {
    return fmt::format(
        "say which training software runs (--framework {}, if that is it: the cluster's file "
        "only takes it as likely)",
        name);
  }
  return fmt::format("no published run stands behind {}: give runs under it to --learn", name);
}

}  // namespace

bool is_timed_here(const Device& device) {
  return std::any_of(device.gemm.begin(), device.gemm.end(), [](const GemmModel& model) {
    return !model.points.empty() || model.provenance == Provenance::measured;
  });
}

bool chip_is_known(const Device& device) {
  return std::any_of(device.gemm.begin(), device.gemm.end(), [](const GemmModel& model) {
    return model.provenance <= Provenance::extrapolated;
  });
}

bool machine_is_profiled(const Cluster& cluster) {
  return is_timed_here(only_device(cluster)) || cluster.fit_holds();
}

bool software_is_known(const Cluster& cluster) {
  if (only_device(cluster).kind == DeviceKind::cpu) return true;
  if (cluster.framework_assumed) return false;
  return cluster.fit_holds() || compared_with_runs(cluster.framework.name);
}

IntervalRegime interval_regime(const Cluster& cluster) {
  const bool software = software_is_known(cluster);
  if (software && machine_is_profiled(cluster)) {
    const bool cores = only_device(cluster).kind == DeviceKind::cpu;
    return cores ? IntervalRegime::profiled_cores : IntervalRegime::profiled_machine;
  }
  if (!chip_is_known(only_device(cluster))) return IntervalRegime::unknown_chip;
  return software ? IntervalRegime::known_chip : IntervalRegime::unknown_software;
}

std::string narrowed_by(const Cluster& cluster) {
  switch (interval_regime(cluster)) {
    case IntervalRegime::profiled_machine:
    case IntervalRegime::profiled_cores:
      return "";
    case IntervalRegime::known_chip:
      return "measure this machine (meshwright calibrate), or give five runs on it to --learn";
    case IntervalRegime::unknown_software:
      return named_software(cluster);
    case IntervalRegime::unknown_chip:
      return "measure this chip (meshwright calibrate)" +
             (software_is_known(cluster) ? "" : "; " + named_software(cluster));
  }
  return "";
}

}  // namespace meshwright
