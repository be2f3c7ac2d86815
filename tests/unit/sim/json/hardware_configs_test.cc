// SPDX-License-Identifier: Apache-2.0
// Every file below configs/hardware and configs/clusters loads, says where its numbers are from,
// and gives sensible answers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/collective/collective.h"
#include "sim/json/records.h"
#include "sim/kernel_time/compute.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(MESHWRIGHT_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  return files;
}

Json read_config(const fs::path& path) {
  std::ifstream stream(path);
  return Json::parse(stream);
}

Cluster load_cluster(const fs::path& path) {
  Json json = read_config(path);
  for (const char* part : {"device", "framework"}) {
    if (!json.contains(part) || !json[part].is_string()) continue;
    json[part] = read_config(path.parent_path() / json[part].get<std::string>());
  }
  return cluster_from_json(json, path.string());
}

TEST(HardwareConfigs, EveryDeviceLoadsAndNamesItsSources) {
  const auto files = files_in("configs/hardware");
  EXPECT_GE(files.size(), 12U);
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.string());
    const Device d = device_from_json(read_config(path), path.string());
    EXPECT_GT(d.source.size(), 40U);
    if (d.source.find("The power is not published") == std::string::npos) {
      EXPECT_GT(d.power_watts.value_or(0.0), 0.0);
    }
    EXPECT_FALSE(d.attention.empty());
    EXPECT_EQ(to_json(device_from_json(Json::parse(to_json(d).dump()), "again")).dump(),
              to_json(d).dump());
  }
}

TEST(HardwareConfigs, ALargeGemmRunsBetweenAThirdOfThePeakAndThePeak) {
  for (const fs::path& path : files_in("configs/hardware")) {
    const Device d = device_from_json(read_config(path), path.string());
    for (const GemmModel& g : d.gemm) {
      const GemmShape shape{1, 8192, 8192, 8192};
      const double share = gemm_flops(shape) / gemm_cost(shape, g.precision, d).time / g.peak;
      EXPECT_GT(share, 0.33) << path;
      EXPECT_LT(share, 1.0) << path;
    }
  }
}

TEST(HardwareConfigs, EveryClusterLoadsAndNamesItsSources) {
  const auto files = files_in("configs/clusters");
  EXPECT_GE(files.size(), 15U);
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.string());
    const Cluster c = load_cluster(path);
    EXPECT_GT(c.source.size(), 40U);
    EXPECT_GT(c.inter_node.bandwidth.value(), 0.0);
  }
}

TEST(HardwareConfigs, NoCollectiveBeatsItsWires) {
  // Bus bandwidth never exceeds the link, but for reduction in the switch.
  for (const fs::path& path : files_in("configs/clusters")) {
    const Cluster c = load_cluster(path);
    const int n = c.gpus_per_node;
    const Bytes payload = gigabytes(4);
    for (const Collective collective : {Collective::all_gather, Collective::all_reduce}) {
      const Cost cost = collective_cost(collective, payload, {n, n, 1, 1}, c);
      const BytesPerSecond bus = payload * bus_factor(collective, n) / cost.time;
      const bool in_switch =
          collective == Collective::all_reduce && c.intra_node.sharp_bandwidth_fraction > 0.0;
      EXPECT_LT(bus / c.intra_node.bandwidth, in_switch ? 1.1 : 1.0) << path;
    }
  }
}

TEST(HardwareConfigs, PublishedBusBandwidthsAreMet) {
  // GTC24 S62129 (8 devices, one node; 32 devices, several nodes), GB/s at large sizes.
  struct Row {
    const char* file;
    Placement placement;
    double busbw;
  };
  const Row rows[] = {{"dgx-a100-80gb", {8, 8, 1, 1}, 232}, {"dgx-a100-80gb", {32, 8, 4, 1}, 192},
                      {"h100-512", {8, 8, 1, 1}, 480},      {"h100-512", {32, 8, 4, 1}, 375},
                      {"hgx-b200", {8, 8, 1, 1}, 850},      {"dgx-a100-80gb", {4, 1, 4, 8}, 24},
                      {"h100-512", {4, 1, 4, 8}, 48}};
  for (const Row& row : rows) {
    const Cluster c = load_cluster(fs::path(MESHWRIGHT_SOURCE_DIR) / "configs/clusters" /
                                   (std::string(row.file) + ".json"));
    const Bytes payload = gibibytes(16);
    const Cost cost = collective_cost(Collective::all_reduce, payload, row.placement, c);
    const double busbw =
        (payload * bus_factor(Collective::all_reduce, row.placement.group_size) / cost.time)
            .value() /
        1e9;
    EXPECT_NEAR(busbw / row.busbw, 1.0, 0.08) << row.file << " " << row.placement.group_size;
  }
}

TEST(HardwareConfigs, PublishedAttentionRatesAreMet) {
  // FlashAttention-2 on A100, width 128, 16 heads, causal, 16k positions in all: forward + backward
  // TFLOP/s by sequence length (repository benchmarks).
  const fs::path path = fs::path(MESHWRIGHT_SOURCE_DIR) / "configs/hardware/a100-sxm-80gb.json";
  const Device d = device_from_json(read_config(path), path.string());
  const std::pair<int, double> rows[] = {{512, 99},   {1024, 133}, {2048, 155},
                                         {4096, 173}, {8192, 182}, {16384, 189}};
  for (const auto& [length, tflops] : rows) {
    Operator op;
    op.kind = OperatorKind::attention;
    op.batch = 16 * (16384 / length);
    op.m = op.n = length;
    op.k = 128;
    // 4 * batch * length^2 * width, half of it masked; backward 2.5 times.
    op.forward_flops = flops(2.0 * static_cast<double>(op.batch) * length * length * 128.0);
    op.backward_flops = op.forward_flops * 2.5;
    const Seconds time = forward_cost(op, Precision::bf16, d).time +
                         backward_cost(op, Precision::bf16, d).input.time;
    const double rate = (op.forward_flops + op.backward_flops) / time / teraflops_per_second(1);
    EXPECT_NEAR(rate / tflops, 1.0, 0.03) << length;
  }
}

}  // namespace
}  // namespace meshwright
