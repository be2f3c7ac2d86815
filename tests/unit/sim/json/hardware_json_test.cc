// SPDX-License-Identifier: Apache-2.0
// Units and bits of what is read. Mistakes and older files: cases/hardware.txt.
#include <gtest/gtest.h>

#include "sim/json/records.h"

namespace meshwright {
namespace {

Json device_json() {
  return Json::parse(R"({
    "schema": "meshwright.device/1", "name": "test device", "num_multiprocessors": 108,
    "memory_gib": 80, "memory_bandwidth_gb_per_s": 2039, "kernel_launch_us": 2.5,
    "gemm": [{"precision": "bf16", "peak_tflops": 312, "provenance": "fitted"}]
  })");
}

Json cluster_json() {
  Json j = Json::parse(R"({
    "schema": "meshwright.cluster/1", "name": "test cluster", "gpus_per_node": 8, "num_nodes": 2,
    "intra_node": {"name": "NVLink 3", "bandwidth_gb_per_s": 300, "latency_us": 1.5},
    "inter_node": {"bandwidth_gb_per_s": 25, "ramp_kib": 512}
  })");
  j["device"] = device_json();
  return j;
}

TEST(HardwareJson, UnitsOfTheKeysAreApplied) {
  const Cluster c = cluster_from_json(cluster_json(), "c.json");
  EXPECT_EQ(c.device.memory, gibibytes(80));
  EXPECT_EQ(c.device.memory_bandwidth, gigabytes_per_second(2039));
  EXPECT_EQ(c.device.gemm.front().peak, teraflops_per_second(312));
  EXPECT_DOUBLE_EQ(c.device.kernel_launch.value(), 2.5e-6);
  EXPECT_EQ(c.intra_node.bandwidth, gigabytes_per_second(300));
  EXPECT_DOUBLE_EQ(c.intra_node.latency.value(), 1.5e-6);
  EXPECT_EQ(c.inter_node.ramp_bytes, kibibytes(512));
  EXPECT_EQ(c.num_gpus(), 16);
}

// Values with full mantissas, as a measurement has them.
Cluster measured_cluster() {
  Cluster c = cluster_from_json(cluster_json(), "c.json");
  Device& d = c.device;
  d.memory = bytes(85'045'878'784.0);
  d.memory_bandwidth = bytes_per_second(1.0 / 3.0 * 5.0e12);
  d.kernel_launch = seconds(2.0 / 3.0 * 1e-6);
  d.host_launch = seconds(4.7e-6 / 3.0);
  d.host_link = bytes_per_second(5.1e10 / 7.0);
  d.time_jitter = 0.125;
  GemmModel& g = d.gemm.front();
  g.peak = flops_per_second(3.0e14 / 7.0);
  g.split_latency = seconds(1e-6 / 7.0);
  for (int i = 1; i < 50; ++i) {
    g.points.push_back({1, i, 64 + i, 3 * i, seconds(1e-6 * i / 7.0), 0.1 / i});
  }
  d.attention.push_back(
      {.head_dim = 128, .ramp_keys = 200.0 / 3.0, .backward_tail_waves = 1.0 / 3.0});
  d.kernels.push_back({"adam", bytes_per_second(1e12 / 3.0), 0.1 / 3.0, Provenance::measured});
  for (int n = 2; n <= 8; n *= 2) {
    CollectiveCurve curve{Collective::all_gather, n, {}};
    for (int i = 1; i < 20; ++i) {
      curve.points.push_back({bytes(1024.0 * i), seconds(1e-6 * i / 3.0), 0.02 / i});
    }
    c.intra_node.curves.push_back(curve);
  }
  c.inter_node.base_latency = seconds(1e-5 / 7.0);
  c.framework.name = "test framework";
  c.framework.gemm_time_factor = 4.0 / 3.0;
  c.framework.step_overhead = seconds(1e-3 / 7.0);
  c.framework.defaults.job.kernel_fusion = KernelFusion::eager;
  c.framework.defaults.layout.pipeline_engine = PipelineEngine::nanotron;
  c.fit = {"test framework", "7 runs", 0.9, 1.1, 1.2, seconds(1e-3), 0.02, 5, {"set"}, {"gemm"}};
  return c;
}

void expect_same_bits(const Link& a, const Link& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.bandwidth, b.bandwidth);
  EXPECT_EQ(a.base_latency, b.base_latency);
  EXPECT_EQ(a.latency, b.latency);
  EXPECT_EQ(a.ramp_latency, b.ramp_latency);
  EXPECT_EQ(a.ramp_bytes, b.ramp_bytes);
  ASSERT_EQ(a.curves.size(), b.curves.size());
  for (std::size_t i = 0; i < a.curves.size(); ++i) {
    EXPECT_EQ(a.curves[i].group_size, b.curves[i].group_size);
    ASSERT_EQ(a.curves[i].points.size(), b.curves[i].points.size());
    for (std::size_t p = 0; p < a.curves[i].points.size(); ++p) {
      EXPECT_EQ(a.curves[i].points[p].payload, b.curves[i].points[p].payload);
      EXPECT_EQ(a.curves[i].points[p].time, b.curves[i].points[p].time);
      EXPECT_EQ(a.curves[i].points[p].relative_spread, b.curves[i].points[p].relative_spread);
    }
  }
}

TEST(HardwareJson, AMeasuredProfileReloadsToTheSameBits) {
  const Cluster before = measured_cluster();
  const std::string text = to_json(before).dump(2);
  const Cluster after = cluster_from_json(Json::parse(text), "c.json");
  EXPECT_EQ(to_json(after).dump(2), text);
  EXPECT_EQ(after.device.memory, before.device.memory);
  EXPECT_EQ(after.device.memory_bandwidth, before.device.memory_bandwidth);
  EXPECT_EQ(after.device.kernel_launch, before.device.kernel_launch);
  EXPECT_EQ(after.device.host_launch, before.device.host_launch);
  EXPECT_EQ(after.device.host_link, before.device.host_link);
  EXPECT_EQ(after.device.time_jitter, before.device.time_jitter);
  EXPECT_EQ(after.device.kernels.front().rate, before.device.kernels.front().rate);
  const GemmModel &a = after.device.gemm.front(), &b = before.device.gemm.front();
  EXPECT_EQ(a.peak, b.peak);
  EXPECT_EQ(a.split_latency, b.split_latency);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    EXPECT_EQ(a.points[i].k, b.points[i].k);
    EXPECT_EQ(a.points[i].time, b.points[i].time);
    EXPECT_EQ(a.points[i].relative_spread, b.points[i].relative_spread);
  }
  EXPECT_EQ(after.framework, before.framework);
  EXPECT_EQ(after.fit, before.fit);
  expect_same_bits(after.intra_node, before.intra_node);
  expect_same_bits(after.inter_node, before.inter_node);
}

TEST(HardwareJson, AmountsReloadToTheSameBitsWhateverTheyAre) {
  // Dividing by 1e9 and multiplying again is off by one bit for some of any 300 such numbers.
  Cluster c = cluster_from_json(cluster_json(), "c.json");
  for (int i = 1; i < 300; ++i) {
    c.inter_node.bandwidth = bytes_per_second(1e11 * i / 7.0);
    c.inter_node.latency = seconds(1e-6 * i / 7.0);
    const Cluster again = cluster_from_json(Json::parse(to_json(c).dump()), "c.json");
    ASSERT_EQ(again.inter_node.bandwidth, c.inter_node.bandwidth) << i;
    ASSERT_EQ(again.inter_node.latency, c.inter_node.latency) << i;
  }
}

}  // namespace
}  // namespace meshwright
