// SPDX-License-Identifier: Apache-2.0
#include "calibrate/profile/onto.h"

#include <gmock/gmock.h>

#include <cmath>

#include "calibrate/calibrated_machine.h"
#include "calibrate/profile/merge.h"
#include "calibrate/profile/profile_json.h"
#include "sim/json/records.h"
#include "sim/kernel_time/compute.h"

namespace meshwright::calibrate {
namespace {

using testing::HasSubstr;

// A GPU of 132 SMs, 1,000 TFLOP/s in bf16 and 2,000 in fp8, 3 TB/s, in nodes of 8.
Cluster datasheet() {
  Cluster cluster;
  cluster.name = "shipped";
  cluster.source = "datasheets";
  cluster.gpus_per_node = 8;
  cluster.num_nodes = 4;
  Device& device = cluster.device;
  device.name = "H";
  device.architecture = "hopper";
  device.num_multiprocessors = 132;
  device.memory = gibibytes(80);
  device.memory_bandwidth = gigabytes_per_second(3000);
  device.host_launch = microseconds(5);
  device.kernel_launch = microseconds(2);
  device.sustained_clock_fraction = 0.9;
  GemmModel bf16, fp8;
  bf16.precision = Precision::bf16;
  bf16.peak = teraflops_per_second(1000);
  bf16.sustained_fraction = 0.8;
  bf16.tile_m = bf16.tile_n = 256;
  bf16.ramp_k = 100.0;
  bf16.k_latency = seconds(1e-11);
  bf16.wave_quantization = 0.2;
  fp8.precision = Precision::fp8;
  fp8.peak = teraflops_per_second(2000);
  fp8.sustained_fraction = 0.7;
  device.gemm = {bf16, fp8};
  device.attention = {{.head_dim = 128, .forward_fraction = 0.68, .backward_fraction = 0.51}};
  device.kernels = {{.kernel = "adam", .rate = gigabytes_per_second(2900)},
                    {.kernel = "add", .rate = gigabytes_per_second(2900)}};
  Link& inside = cluster.intra_node;
  inside.name = "NVLink";
  inside.bandwidth = gigabytes_per_second(450);
  inside.bandwidth_fraction = 0.9;
  inside.sharp_bandwidth_fraction = 1.03;
  inside.sharp_min_group = 5;
  inside.latency = microseconds(1);
  cluster.inter_node.name = "IB";
  cluster.inter_node.bandwidth = gigabytes_per_second(50);
  return cluster;
}

Cluster measured_on(int multiprocessors = 132, int gpus = 8) {
  Cluster cluster;
  cluster.source = "measured today";
  cluster.gpus_per_node = gpus;
  cluster.device.name = "NVIDIA H100 80GB HBM3";
  cluster.device.num_multiprocessors = multiprocessors;
  cluster.device.memory = gibibytes(79);
  return cluster;
}

MeasuredPoint timed_point(const Subject& subject, double amount, double time) {
  MeasuredPoint p;
  p.subject = subject;
  p.amount = bytes(amount);
  const Seconds t = seconds(time);
  p.measurement.summary = {.median = t, .min = t, .p10 = t, .p90 = t, .count = 7};
  return p;
}

Subject bf16_product(std::int64_t n) {
  return timed::Gemm{{Precision::bf16, {.shape = {1, n, n, n}}}};
}

// Pairs inside a node.
Subject pairs(int stride = 1) {
  return timed::CollectiveCall{
      {.group_size = 2, .ranks_per_node = 2, .groups_per_node = 4, .stride = stride}};
}

// As if the model of `cluster`, with another sustained fraction, had been timed.
std::vector<MeasuredPoint> products(const Cluster& cluster, double fraction) {
  GemmModel model = cluster.device.gemm[0];
  model.sustained_fraction = fraction;
  Device device = cluster.device;
  device.gemm = {model};
  std::vector<MeasuredPoint> points;
  for (const std::int64_t n : {1024, 2048, 3072, 4096, 6144, 8192}) {
    const double time = gemm_cost({1, n, n, n}, Precision::bf16, device).time.value();
    points.push_back(timed_point(bf16_product(n), 1.0, time));
  }
  return points;
}

Cluster assembled(const std::vector<MeasuredPoint>& points) {
  return assemble(points, put_onto(datasheet(), measured_on())).cluster;
}

TEST(Onto, NothingMeasuredChangesNoNumber) {
  Cluster cluster = assembled({});
  const Cluster before = datasheet();
  cluster.source = before.source;
  cluster.device.source = before.device.source;
  cluster.device.name = before.device.name;
  cluster.device.memory = before.device.memory;
  // hopper has tf32, fp16 and fp32 besides; without a measured format nothing stands in for them.
  EXPECT_EQ(to_json(cluster), to_json(before));
}

TEST(Onto, ProductsMeasuredMoveTheSustainedShareAndTheDatasheetsPeakStays) {
  const Cluster cluster = assembled(products(datasheet(), 0.72));
  const GemmModel& bf16 = cluster.device.gemm.at(0);
  EXPECT_EQ(bf16.peak, teraflops_per_second(1000));  // what MFU is a share of
  EXPECT_NEAR(bf16.sustained_fraction, 0.72, 0.01);
  EXPECT_DOUBLE_EQ(bf16.wave_quantization, 0.2);
  EXPECT_DOUBLE_EQ(bf16.k_latency.value(), 1e-11);
  EXPECT_EQ(bf16.tile_m, 256);
  EXPECT_EQ(bf16.points.size(), 6U);
  EXPECT_EQ(bf16.provenance, Provenance::fitted);
  const GemmModel& fp8 = cluster.device.gemm.at(1);
  EXPECT_EQ(fp8.peak, teraflops_per_second(2000));
  EXPECT_DOUBLE_EQ(fp8.sustained_fraction, 0.7);
}

TEST(Onto, AttentionHostLaunchOtherKernelsAndReductionInTheSwitchStay) {
  const MeasuredPoint add = timed_point(timed::Kernel{"add"}, 1e9, 2e-6 + 1e9 / 3.1e12);
  std::vector<MeasuredPoint> points{add};
  for (int i = 20; i < 28; ++i) {
    points.push_back(timed_point(pairs(), std::exp2(i), 1e-5 + std::exp2(i) / 300e9));
  }
  const Cluster cluster = assembled(points);
  EXPECT_EQ(cluster.device.attention.size(), 1U);
  EXPECT_DOUBLE_EQ(cluster.device.host_launch.value(), 5e-6);
  ASSERT_EQ(cluster.device.kernels.size(), 2U);
  EXPECT_EQ(cluster.device.kernels[0].rate, gigabytes_per_second(2900));
  EXPECT_NEAR(cluster.device.kernels[1].rate.value(), 3.1e12, 1e6);
  EXPECT_EQ(cluster.intra_node.bandwidth, gigabytes_per_second(450));
  // All-reduce over two moves the payload once: 300 of 450 GB/s.
  EXPECT_NEAR(cluster.intra_node.bandwidth_fraction, 300.0 / 450.0, 0.02);
  EXPECT_DOUBLE_EQ(cluster.intra_node.sharp_bandwidth_fraction, 1.03);
  EXPECT_EQ(cluster.intra_node.sharp_min_group, 5);
  EXPECT_EQ(cluster.inter_node.bandwidth, gigabytes_per_second(50));
  EXPECT_EQ(cluster.num_nodes, 4);
}

// Our fp32 kernels are a bound from below: 2.5 TB/s do not speak against the 2.9 of others.
TEST(Onto, ASlowerKernelOfOursChangesNothingAndAFasterOneIsNoMeasurementOfSixteenBits) {
  const MeasuredPoint add = timed_point(timed::Kernel{"add"}, 1e9, 2e-6 + 1e9 / 2.5e12);
  EXPECT_EQ(assembled({add}).device.kernels[1].rate, gigabytes_per_second(2900));
  const Device fresh = assemble({add}, measured_on()).cluster.device;
  EXPECT_EQ(fresh.kernels.at(0).provenance, Provenance::extrapolated);
  EXPECT_GE(fresh.kernels[0].relative_spread, 0.2);
}

// 3 TB/s on the datasheet, 2.4 measured: four fifths of it.
TEST(Onto, AMeasuredCopyIsAShareOfTheDatasheetsBandwidth) {
  const Cluster cluster = assembled({timed_point(timed::MemoryCopy{}, 2.4e9, 1e-3)});
  EXPECT_EQ(cluster.device.memory_bandwidth, gigabytes_per_second(3000));
  EXPECT_DOUBLE_EQ(cluster.device.memory_bandwidth_fraction, 0.8);
  EXPECT_EQ(cluster.device.memory_provenance, Provenance::measured);
}

// 4 TB/s where 3 were stated: the file was no datasheet's, and no share is more than the whole.
TEST(Onto, AFasterCopyThanStatedIsTheBandwidth) {
  const Cluster cluster = assembled({timed_point(timed::MemoryCopy{}, 4e9, 1e-3)});
  EXPECT_DOUBLE_EQ(cluster.device.memory_bandwidth.value(), 4e12);
  EXPECT_DOUBLE_EQ(cluster.device.memory_bandwidth_fraction, 1.0);
}

TEST(Onto, AnotherChipIsRefusedInWords) {
  EXPECT_EQ(cannot_be(datasheet(), measured_on()), "");
  EXPECT_EQ(cannot_be(datasheet(), measured_on(132, 1)), "");  // one of eight
  EXPECT_THAT(cannot_be(datasheet(), measured_on(108)),
              HasSubstr("\"H\" with 132 multiprocessors, \"NVIDIA H100 80GB HBM3\" has 108"));
  EXPECT_THAT(cannot_be(datasheet(), measured_on(132, 16)), HasSubstr("8 devices a node, 16"));
  Cluster core = measured_on();
  core.device.kind = DeviceKind::cpu;
  EXPECT_THAT(cannot_be(datasheet(), core), HasSubstr("is a cpu"));
}

MeasuredPoint pair(int stride, double time) { return timed_point(pairs(stride), 16777216.0, time); }

// Pairs of an NVLink bridge take 0.1 ms, two GPUs of different pairs, over PCIe, 0.7 ms.
TEST(Onto, NeighboursWithALinkOfTheirOwnAreKeptApartFromOthers) {
  const std::vector<MeasuredPoint> points{pair(1, 1e-4), pair(4, 7e-4)};
  Cluster bridged = datasheet();
  bridged.gpus_per_island = 2;
  bridged.island.bandwidth = gigabytes_per_second(200);
  const Cluster cluster = assemble(points, bridged).cluster;
  ASSERT_EQ(cluster.island.curves.size(), 1U);
  EXPECT_DOUBLE_EQ(cluster.island.curves[0].points.at(0).time.value(), 1e-4);
  ASSERT_EQ(cluster.intra_node.curves.size(), 1U);
  EXPECT_DOUBLE_EQ(cluster.intra_node.curves[0].points.at(0).time.value(), 7e-4);
  // Without islands there is one way, and one curve.
  const Cluster one_switch = assembled(points);
  ASSERT_EQ(one_switch.intra_node.curves.size(), 1U);
  EXPECT_EQ(one_switch.intra_node.curves[0].points.size(), 1U);
  EXPECT_TRUE(one_switch.island.curves.empty());
}

TEST(Onto, FasterNeighboursAreNoticed) {
  EXPECT_THAT(neighbours_words({pair(1, 1e-4), pair(4, 7e-4)}),
              HasSubstr("over 2 neighbours is 7.0 times as fast as over every 4th GPU"));
  EXPECT_EQ(neighbours_words({pair(1, 1e-4), pair(4, 1.1e-4)}), "");
  EXPECT_EQ(neighbours_words({pair(1, 1e-4)}), "");
}

// 2 * 1024^3 FLOPs in 1 us are 2,147 TFLOP/s of a peak of 1,000.
TEST(Onto, AProductFasterThanThePeakSaysThatTheFileIsOfAnotherChip) {
  const MeasuredPoint fast = timed_point(bf16_product(1024), 1.0, 1e-6);
  const auto words = faster_than_peak(assembled({fast}).device);
  ASSERT_EQ(words.size(), 1U);
  EXPECT_EQ(words[0], "bf16: 2147 TFLOP/s were measured, the cluster's file says 1000");
  EXPECT_TRUE(faster_than_peak(assembled(products(datasheet(), 0.8)).device).empty());
}

// Refitting, as a merge and an import do, finds what the first fit found.
TEST(Onto, ARefitKeepsWhatTheClusterBrought) {
  Profile profile;
  profile.onto = "shipped";
  profile.num_ranks = 8;
  profile.machine.cores = 8;
  profile.points = products(datasheet(), 0.72);
  profile.cluster = assembled(profile.points);
  const double fraction = profile.cluster.device.gemm[0].sustained_fraction;
  const Profile read = profile_from_json(to_json(profile), "p.json");
  EXPECT_EQ(read.onto, "shipped");
  EXPECT_EQ(read.num_ranks, 8);
  Profile again = read;
  refit(again);
  EXPECT_EQ(again.cluster.device.attention.size(), 1U);
  EXPECT_NEAR(again.cluster.device.gemm.at(0).sustained_fraction, fraction, 1e-3);
  EXPECT_EQ(again.cluster.device.gemm.at(0).peak, teraflops_per_second(1000));
}

MeasuredPoint sustained(MeasuredPoint burst, double longer) {
  burst.subject = timed::SustainedGemm{*product_of(burst.subject)};
  burst.measurement.summary.median *= longer;
  return burst;
}

// 1 ms in a burst, 1.25 ms after a second: the clock is at 0.8. The file's 0.9 knew less.
TEST(SustainedClock, IsWhatALongRunOfTheSameProductLoses) {
  const MeasuredPoint burst = products(datasheet(), 0.8).back();
  EXPECT_DOUBLE_EQ(assembled({burst, sustained(burst, 1.25)}).device.sustained_clock_fraction, 0.8);
  EXPECT_DOUBLE_EQ(assembled({burst, sustained(burst, 1.05)}).device.sustained_clock_fraction, 0.9);
  EXPECT_DOUBLE_EQ(assembled({burst}).device.sustained_clock_fraction, 0.9);
  const Cluster fresh = assemble({burst, sustained(burst, 1.25)}, measured_on()).cluster;
  EXPECT_DOUBLE_EQ(fresh.device.sustained_clock_fraction, 0.8);
  EXPECT_EQ(fresh.device.gemm.at(0).points.size(), 1U);  // the sustained time is no shape's time
}

// 1 GB in 20 ms up, 25 ms down, 50 ms both: 40 GB/s is what a transfer one way can rely on.
TEST(HostLink, IsTheSlowerWayAlone) {
  MeasuredPoint up = timed_point(timed::HostLink{}, 1e9, 0.020), down = up, both = up;
  down.subject = timed::HostLink{HostDirection::to_host};
  down.measurement.summary.median = seconds(0.025);
  both.subject = timed::HostLink{HostDirection::both};
  both.measurement.summary.median = seconds(0.050);
  EXPECT_FALSE(same_subject(up, down));
  EXPECT_DOUBLE_EQ(assembled({up, down, both}).device.host_link.value(), 40e9);
}

TEST(DeviceStates, TheHottestOfAllRanksCounts) {
  const DeviceState all = combined({{1980.0, 500.0, 0x001},
                                    {0.0, 0.0, 0},  // does not say
                                    {1755.0, 690.0, 0x004}});
  EXPECT_DOUBLE_EQ(all.clock_mhz, 1755.0);
  EXPECT_DOUBLE_EQ(all.power_watts, 690.0);
  EXPECT_TRUE(is_throttled(all.throttle_reasons));
  EXPECT_EQ(throttle_names(all.throttle_reasons), "gpu_idle sw_power_cap");
  EXPECT_FALSE(is_throttled(0x001 | 0x002));  // idle, at a clock that somebody chose
}

TEST(DeviceStates, APointKeepsThemInItsFile) {
  MeasuredPoint p = products(datasheet(), 0.8).back();
  p.state = {1755.0, 690.0, 0x004};
  p.in_cache = true;
  const auto json = to_json(p);
  EXPECT_EQ(json["throttled"], true);
  const MeasuredPoint again = point_from_json(json, "p.json", "");
  EXPECT_DOUBLE_EQ(again.state.clock_mhz, 1755.0);
  EXPECT_DOUBLE_EQ(again.state.power_watts, 690.0);
  EXPECT_TRUE(again.throttled());
  EXPECT_TRUE(again.in_cache);
  EXPECT_FALSE(to_json(products(datasheet(), 0.8).back()).contains("throttled"));
}

}  // namespace
}  // namespace meshwright::calibrate
