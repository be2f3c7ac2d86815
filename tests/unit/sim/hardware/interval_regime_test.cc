// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/interval_regime.h"

#include <gtest/gtest.h>

#include "sim/base/shipped_spreads.h"

namespace meshwright {
namespace {

Cluster machine(Provenance of_products, const std::string& framework) {
  Cluster cluster;
  GemmModel gemm;
  gemm.provenance = of_products;
  cluster.device.gemm = {gemm};
  cluster.framework.name = framework;
  return cluster;
}

const std::string kKnown{shipped::kComparedFrameworks.front()};

TEST(IntervalRegime, AChipIsKnownWhereAChipOfItsFamilyWasTimed) {
  EXPECT_EQ(interval_regime(machine(Provenance::fitted, kKnown)), IntervalRegime::known_chip);
  EXPECT_EQ(interval_regime(machine(Provenance::extrapolated, kKnown)), IntervalRegime::known_chip);
  EXPECT_EQ(interval_regime(machine(Provenance::datasheet, kKnown)), IntervalRegime::unknown_chip);
  EXPECT_EQ(interval_regime(machine(Provenance::assumed, "")), IntervalRegime::unknown_chip);
}

TEST(IntervalRegime, SoftwareIsKnownWhereItIsStatedAndRunsStandBehindIt) {
  EXPECT_EQ(interval_regime(machine(Provenance::fitted, "")), IntervalRegime::unknown_software);
  EXPECT_EQ(interval_regime(machine(Provenance::fitted, "software-2030")),
            IntervalRegime::unknown_software);
  Cluster assumed = machine(Provenance::fitted, kKnown);
  assumed.framework_assumed = true;
  EXPECT_EQ(interval_regime(assumed), IntervalRegime::unknown_software);
  EXPECT_NE(narrowed_by(assumed).find("--framework " + kKnown), std::string::npos);
}

TEST(IntervalRegime, AMachineIsProfiledByCalibrationOrByItsOwnRuns) {
  EXPECT_EQ(interval_regime(machine(Provenance::measured, kKnown)),
            IntervalRegime::profiled_machine);
  Cluster taught = machine(Provenance::fitted, "software-2030");
  taught.fit.framework = "software-2030";
  EXPECT_EQ(interval_regime(taught), IntervalRegime::profiled_machine);
  taught.framework.name = "other";  // the fit is of other software
  EXPECT_EQ(interval_regime(taught), IntervalRegime::unknown_software);
  // A calibration leaves its points, beside a model that is fitted to them.
  Cluster calibrated = machine(Provenance::fitted, kKnown);
  calibrated.device.gemm[0].points = {{1, 256, 256, 256, milliseconds(1), 0.0}};
  EXPECT_EQ(interval_regime(calibrated), IntervalRegime::profiled_machine);
  EXPECT_EQ(narrowed_by(calibrated), "");
  // Cores run a trial, which nobody names.
  calibrated.framework.name = "";
  calibrated.device.kind = DeviceKind::cpu;
  EXPECT_EQ(interval_regime(calibrated), IntervalRegime::profiled_cores);
  EXPECT_EQ(narrowed_by(calibrated), "");
}

}  // namespace
}  // namespace meshwright
