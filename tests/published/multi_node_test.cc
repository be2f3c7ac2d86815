// SPDX-License-Identifier: Apache-2.0
// Collectives over several nodes against published points. The network's model was not fitted to
// the first three (NCCL's tuner latencies, line rate); the limits are what it reaches, rounded up,
// and may only be tightened.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "app/files/files.h"
#include "sim/collective/collective.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

Cluster cluster(const std::string& name) {
  return app::load_cluster(std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/clusters/" + name +
                           ".json");
}

// Bus bandwidth of whole nodes of 8, GB/s.
double busbw(Collective collective, Bytes payload, int nodes, const Cluster& c) {
  const Placement p{8 * nodes, 8, nodes, 1};
  const Cost cost = collective_cost(collective, payload, p, c);
  return payload * bus_factor(collective, 8 * nodes) / cost.time / gigabytes_per_second(1);
}

struct Errors {
  double median = 0.0, worst = 0.0;  // of |predicted / measured - 1|
};
Errors errors(std::vector<double> ratios) {
  for (double& r : ratios) r = std::abs(r - 1.0);
  std::sort(ratios.begin(), ratios.end());
  const Errors e{ratios[ratios.size() / 2], ratios.back()};
  fmt::print("{} points: median {:.1f} %, worst {:.0f} %\n", ratios.size(), 100 * e.median,
             100 * e.worst);
  return e;
}

TEST(MultiNode, SimAiRingsOf2To128NodesKeepTheirShareOfTheNics) {
  // SimAI cef83f9, inputs/ratio/nic_ratio.csv: share of the link's bandwidth by payload (64 MiB,
  // 256 MiB, 1, 4, 16 GiB), taken as 8 x 400 Gb/s (the hardware is not stated).
  struct Row {
    int nodes;
    double share[5];
  };
  const Row rows[] = {{2, {0.5, 0.85, 0.92, 0.95, 0.96}},
                      {4, {0.53, 0.77, 0.93, 0.95, 0.96}},
                      {8, {0.39, 0.69, 0.9, 0.95, 0.96}},
                      {16, {0.21, 0.57, 0.76, 0.95, 0.96}},
                      {32, {0.106, 0.387, 0.74, 0.923, 0.957}},
                      {64, {0.051, 0.209, 0.563, 0.755, 0.958}},
                      {128, {0.04405, 0.1027, 0.314575, 0.740175, 0.919175}}};
  const double mebibytes_of[] = {64, 256, 1024, 4096, 16384};
  const Cluster c = cluster("hgx-h100-400g");
  std::vector<double> ratios;
  for (const Row& row : rows) {
    for (int i = 0; i < 5; ++i) {
      const double share =
          busbw(Collective::all_gather, mebibytes(mebibytes_of[i]), row.nodes, c) / 400.0;
      ratios.push_back(share / row.share[i]);
    }
  }
  const Errors e = errors(ratios);
  EXPECT_LE(e.median, 0.06);
  EXPECT_LE(e.worst, 0.5);
}

// NCCL's own cost model (src/graph/tuning.cc of 2.30.7) for an all-reduce over two nodes of 8 H100:
// 8 channels of 48 GB/s, latencies of Simple, a ring of 30 steps of which 2 cross, and NVLSTree,
// which reduces in the switches of both nodes. Microseconds.
double nccl_ring(Bytes payload) {
  const double latency = 8.4 + 28 * 3.4 + 2 * 14.0;
  return 1.4 * latency + 1e6 * (payload.value() * 2 * 15 / 16) / (8 * 48e9);
}
double nccl_nvls_tree(Bytes payload) {
  const double bus = std::min({8 * 48e9 * 2, 8 * 57.7e9, 8 * 40e9 * 0.85 * 7 / 8 * 2});
  return 25 + 2 * 20.9 + 1e6 * payload.value() / (bus * 16 / 30);
}

// Tensor groups of 16 over two nodes all-reduce 64 MiB (70B, one sequence of 4,096): 250 to 300
// GB/s of bus bandwidth are no slip. NCCL's cost model lies on both sides, and SimAI's table for
// groups of 16 on two nodes has 0.74 of 400 GB/s.
TEST(MultiNode, TensorGroupsOverTwoNodesAreNcclsPrice) {
  const Cluster c = cluster("hgx-h100-400g");
  for (const double size : {32.0, 64.0, 128.0, 256.0}) {
    const Bytes payload = mebibytes(size);
    const double us =
        collective_cost(Collective::all_reduce, payload, {16, 8, 2, 1}, c).time.value() * 1e6;
    fmt::print("{} MiB: {:.0f} us, NCCL's ring {:.0f}, NVLSTree {:.0f}; {:.0f} GB/s\n", size, us,
               nccl_ring(payload), nccl_nvls_tree(payload),
               busbw(Collective::all_reduce, payload, 2, c));
    EXPECT_LE(us, nccl_ring(payload));
    EXPECT_GE(us, nccl_nvls_tree(payload));
  }
  EXPECT_NEAR(busbw(Collective::all_reduce, mebibytes(64), 2, c) / 400, 0.74, 0.1);
}

// H800 has 8 of H100's 18 NVLink links. A pair's all-gather of 64 MiB takes between what H100's
// pair was measured to take (185 GB/s at 32 MiB, 229 at 128; NVIDIA aiconfigurator 095f58a) and
// 18/8 of it: latencies do not grow with fewer links. DeepSeek counts on 160 GB/s for 8 ranks
// (DeepEP).
TEST(MultiNode, H800sNvlinkIsHalved) {
  const auto rate = [](int ranks, const Cluster& c) {
    const Bytes payload = mebibytes(64);
    const Cost cost =
        collective_cost(Collective::all_gather, payload, {ranks, ranks, 1, 8 / ranks}, c);
    return payload * bus_factor(Collective::all_gather, ranks) / cost.time /
           gigabytes_per_second(1);
  };
  const Cluster h800 = cluster("h800-2048");
  fmt::print("H800: {:.0f} GB/s of 2 ranks, {:.0f} of 8\n", rate(2, h800), rate(8, h800));
  EXPECT_GE(rate(2, h800), 185 * 8.0 / 18.0);
  EXPECT_LE(rate(2, h800), 229);
  EXPECT_NEAR(rate(8, h800), 160, 25);
}

TEST(MultiNode, PlateausOfNvidiasSlides) {
  // GTC24 S62129, all-reduce over 32 devices: 192 GB/s on 8 x 200 Gb/s, 370 to 380 on 8 x 400.
  EXPECT_NEAR(busbw(Collective::all_reduce, gibibytes(16), 4, cluster("dgx-a100-80gb")), 192, 4);
  EXPECT_NEAR(busbw(Collective::all_reduce, gibibytes(16), 4, cluster("hgx-h100-400g")), 375, 10);
}

TEST(MultiNode, HalfOfThePlateauIsReachedWhereItWasMeasured) {
  // All-reduce, GTC24 S62129 and arXiv 2411.13055: half at 35 to 45 MiB on 32 devices, at 180 MiB
  // on 8192. Within a factor of 1.5.
  const Cluster c = cluster("hgx-h100-400g");
  for (const auto& [nodes, measured] : {std::pair{4, 40.0}, {1024, 180.0}}) {
    const double plateau = busbw(Collective::all_reduce, gibibytes(64), nodes, c);
    double half = 1.0;
    while (busbw(Collective::all_reduce, mebibytes(half), nodes, c) < plateau / 2.0) half *= 1.01;
    fmt::print("{} nodes: half at {:.0f} MiB\n", nodes, half);
    EXPECT_LE(std::abs(std::log(half / measured)), std::log(1.5)) << nodes;
  }
}

TEST(MultiNode, EfaOfFourNodesOfTheSameRate) {
  // ml-engineering 744d01e, B200 P6 with EFA v4, 4 nodes, all-reduce, GB/s. Base latency, hop and
  // ramp of aws-p5 were set to two of the points (1 and 64 MiB).
  const std::pair<double, double> points[] = {
      {1, 5.37}, {4, 18.9}, {16, 64.43}, {64, 156.74}, {256, 229.1}, {1024, 362.0}, {4096, 377.3}};
  std::vector<double> ratios;
  for (const auto& [size, measured] : points) {
    ratios.push_back(busbw(Collective::all_reduce, mebibytes(size), 4, cluster("aws-p5")) /
                     measured);
  }
  const Errors e = errors(ratios);
  EXPECT_LE(e.median, 0.1);
  EXPECT_LE(e.worst, 0.25);
}

TEST(MultiNode, NcclsAllToAllOnEfa) {
  // crazyguitar/aws-gpu-communication-benchmark a77f70d, data/nccl_alltoall.csv: p5.48xlarge, 32
  // MiB to 2 GiB a rank, out of place, bus bandwidth in GB/s. No number of aws-p5 was set to these.
  struct Row {
    int nodes;
    double gb_per_s[7];
  };
  const Row rows[] = {{2, {44.79, 62.16, 68.79, 74.26, 75.82, 77.73, 79.25}},
                      {4, {34.45, 43.13, 52.56, 54.28, 53.84, 53.75, 54.07}},
                      {8, {28.67, 34.69, 36.20, 44.40, 46.57, 48.31, 49.63}},
                      {16, {24.63, 26.08, 31.45, 34.77, 40.07, 42.36, 44.23}},
                      {32, {19.72, 22.92, 27.02, 30.21, 33.06, 38.68, 40.78}}};
  std::vector<double> ratios;
  for (const Row& row : rows) {
    for (int i = 0; i < 7; ++i) {
      const Bytes size = mebibytes(static_cast<double>(32 << i));
      ratios.push_back(busbw(Collective::all_to_all, size, row.nodes, cluster("aws-p5")) /
                       row.gb_per_s[i]);
    }
  }
  const Errors e = errors(ratios);
  EXPECT_LE(e.median, 0.12);
  EXPECT_LE(e.worst, 0.4);
}

TEST(MultiNode, ABusyEfaClusterIsKnownToAFactor) {
  // Ultra-Scale Playbook, means of 256 MiB on 2 to 64 nodes. Base latency and hop of hgx-h100-efa
  // were fitted to the all-gathers, the tree's ramp to the all-reduces; reduce-scatter was not
  // seen. The measured bands span a factor of 1.5 (2 nodes) to 14 (64 nodes).
  struct Row {
    Collective collective;
    double gb_per_s[6];
  };
  const Row rows[] = {{Collective::all_gather, {184.61, 118.97, 69.0, 54.97, 27.97, 11.04}},
                      {Collective::reduce_scatter, {181.55, 115.76, 68.55, 54.52, 27.94, 11.07}},
                      {Collective::all_reduce, {361.75, 160.14, 99.56, 84.74, 64.93, 32.94}}};
  const Cluster c = cluster("hgx-h100-efa");
  for (const Row& row : rows) {
    std::vector<double> ratios;
    for (int i = 0; i < 6; ++i) {
      ratios.push_back(busbw(row.collective, mebibytes(256), 2 << i, c) / row.gb_per_s[i]);
    }
    const Errors e = errors(ratios);
    const bool all_reduce = row.collective == Collective::all_reduce;
    EXPECT_LE(e.median, all_reduce ? 0.25 : 0.1);
    EXPECT_LE(e.worst, 0.5);
  }
}

}  // namespace
}  // namespace meshwright
