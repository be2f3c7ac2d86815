// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/stand_ins.h"

#include <gmock/gmock.h>

#include "sim/kernel_time/gemm_model.h"

namespace meshwright::calibrate {
namespace {

GemmModel measured(Precision precision, double teraflops) {
  GemmModel model;
  model.precision = precision;
  model.peak = teraflops_per_second(teraflops);
  model.ramp_k = 77.0;
  model.points = {{1, 64, 64, 64, seconds(1e-6), 0.01}};
  return model;
}

Device device_with(std::vector<GemmModel> models, const std::string& architecture = "hopper") {
  Device device;
  device.architecture = architecture;
  device.gemm = std::move(models);
  return device;
}

// 800 TFLOP/s in bf16: an fp8 plan gets 1,600, not fp32's 50.
TEST(StandIns, AFormatThatWasNotMeasuredIsTheNearestOneTimesTheDatasheetsRatio) {
  Device device = device_with({measured(Precision::fp32, 50), measured(Precision::bf16, 800)});
  add_stand_ins(device);
  const GemmModel& fp8 = gemm_model_for(device, Precision::fp8);
  EXPECT_EQ(fp8.precision, Precision::fp8);
  EXPECT_EQ(fp8.peak, teraflops_per_second(1600));
  EXPECT_DOUBLE_EQ(fp8.ramp_k, 77.0);
  EXPECT_TRUE(fp8.points.empty());
  EXPECT_EQ(fp8.provenance, Provenance::assumed);
  EXPECT_GE(fp8.relative_spread, 0.2);
  EXPECT_EQ(gemm_model_for(device, Precision::tf32).peak, teraflops_per_second(400));
  EXPECT_EQ(gemm_model_for(device, Precision::fp32).peak, teraflops_per_second(50));  // measured
}

// From fp8 1,500 and bf16 800 the nearest to fp4 (4 times 16 bits) is fp8: 3,000.
TEST(StandIns, TheNearestFormatIsByRate) {
  Device device =
      device_with({measured(Precision::bf16, 800), measured(Precision::fp8, 1500)}, "blackwell");
  add_stand_ins(device);
  EXPECT_EQ(gemm_model_for(device, Precision::fp4).peak, teraflops_per_second(3000));
  EXPECT_EQ(gemm_model_for(device, Precision::fp32).peak, teraflops_per_second(50));
}

TEST(StandIns, AnAmpereHasNoFp8AndACoreNoTensorCores) {
  Device ampere = device_with({measured(Precision::bf16, 250)}, "ampere");
  add_stand_ins(ampere);
  EXPECT_FALSE(testing::Matches(
      testing::Contains(testing::Field(&GemmModel::precision, Precision::fp8)))(ampere.gemm));
  Device core = device_with({measured(Precision::fp32, 0.1)}, "");
  add_stand_ins(core);
  EXPECT_EQ(core.gemm.size(), 1U);
}

}  // namespace
}  // namespace meshwright::calibrate
