// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/system_noise.h"

#include <gtest/gtest.h>

#include "calibrate/profile/profile.h"

namespace meshwright::calibrate {
namespace {

struct Times {
  double median, mean, rank_mean;  // ms
  int samples = 1, repetitions = 1;
};

const timed::Gemm kProduct{{.variant = {.shape = {1, 64, 64, 64}}}};

MeasuredPoint with_times(const Subject& subject, Times t) {
  MeasuredPoint p;
  p.subject = subject;
  p.measurement.summary.median = milliseconds(t.median);
  p.measurement.summary.count = t.samples;
  p.measurement.repetitions = t.repetitions;
  p.measurement.mean = milliseconds(t.mean);
  p.measurement.rank_mean = milliseconds(t.rank_mean);
  return p;
}

// 10 calls of 2 ms (median), the slowest rank's mean 2.1 and the samples' 2.2 ms; 20 of 1, 1.1 and
// 1.2 ms: a rank takes 43 ms where medians say 40, the slowest of each sample 46, 3 more, which is
// c(2) = 0.5642 standard deviations. Collectives: 5 of 1 ms that took 1.3.
TEST(SystemNoise, IsWhatCallsTookOverTheirMediansAndTheSlowestOverTheMean) {
  const SystemNoise noise =
      system_noise({with_times(kProduct, {2.0, 2.2, 2.1, 10, 1}),
                    with_times(timed::Kernel{}, {1.0, 1.2, 1.1, 5, 4}),
                    with_times(timed::CollectiveCall{}, {1.0, 1.3, 0.0, 5, 1})},
                   2);
  EXPECT_NEAR(noise.compute_ratio, 43.0 / 40.0, 1e-12);
  EXPECT_NEAR(noise.time_jitter, 3.0 / 43.0 / 0.5642, 1e-12);
  EXPECT_NEAR(noise.collective_ratio, 1.3, 1e-12);
}

// A launch, what another tool timed, and an older profile's points have none.
TEST(SystemNoise, IsNoneWhereNothingOfAStepHasAMean) {
  MeasuredPoint others = with_times(timed::CollectiveCall{}, {1.0, 2.0, 0.0});
  others.source = "nccl-tests";
  const SystemNoise noise = system_noise({with_times(timed::KernelLaunch{}, {1.0, 2.0, 1.5}),
                                          others, with_times(kProduct, {1.0, 0.0, 0.0})},
                                         2);
  EXPECT_EQ(noise.compute_ratio, 1.0);
  EXPECT_EQ(noise.collective_ratio, 1.0);
  EXPECT_EQ(noise.time_jitter, 0.0);
}

// More ranks than cores: whatever was measured, the profile can be read again.
TEST(SystemNoise, JitterStaysWhatADevicesFileMayHave) {
  const std::vector<MeasuredPoint> crowded{with_times(kProduct, {1.0, 50.0, 1.0})};
  EXPECT_EQ(system_noise(crowded, 2).time_jitter, 10.0);
  const std::vector<MeasuredPoint> rounded{with_times(kProduct, {1.0, 0.999, 1.0})};
  EXPECT_EQ(system_noise(rounded, 2).time_jitter, 0.0);
}

// A product of 1 ms that takes a rank 1.25 ms on average and the slower of two 1.5; a GPU keeps its
// median.
TEST(SystemNoise, IsInTheTimesOfCoresAndNotOfGpus) {
  Cluster cluster;
  cluster.gpus_per_node = 2;
  cluster.device.kind = DeviceKind::cpu;
  const std::vector<MeasuredPoint> points{with_times(kProduct, {1.0, 1.5, 1.25})};
  const auto device = [&] { return assemble(points, cluster).cluster.device; };
  EXPECT_NEAR(device().gemm.at(0).points.at(0).time.value(), 1.25e-3, 1e-12);
  EXPECT_NEAR(device().time_jitter, 0.2 / 0.5642, 1e-12);
  cluster.device.kind = DeviceKind::gpu;
  EXPECT_NEAR(device().gemm.at(0).points.at(0).time.value(), 1e-3, 1e-12);
  EXPECT_EQ(device().time_jitter, 0.0);
}

TEST(SystemNoise, IsSaidAndADisturbedHostIsToBeCalibratedAgain) {
  EXPECT_EQ(system_noise_words({1.004, 1.002, 0.01}, 2), "");
  const std::string quiet = system_noise_words({1.06, 1.04, 0.05}, 2);
  EXPECT_NE(quiet.find("mean kernel time is +6 %"), std::string::npos);
  EXPECT_NE(quiet.find("mean collective time +4 %"), std::string::npos);
  EXPECT_NE(quiet.find("wait 3 %"), std::string::npos);
  EXPECT_EQ(quiet.find("calibrate again"), std::string::npos);
  EXPECT_NE(system_noise_words({1.1, 1.1, 0.1}, 2).find("calibrate again"), std::string::npos);
}

}  // namespace
}  // namespace meshwright::calibrate
