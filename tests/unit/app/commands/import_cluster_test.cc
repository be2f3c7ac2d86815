// SPDX-License-Identifier: Apache-2.0
// What tools say of a machine, as a cluster that plans take; collectives onto a shipped cluster.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <tuple>

#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

Json read_json(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

// 128 hosts of 8 on leaves of 16.
TEST(ImportCluster, SlurmsWordsMakeACluster) {
  const std::string nodes = written(
      "nodes.txt", "NodeName=gpu[001-128] Gres=gpu:h100:8(S:0-1) State=IDLE Partitions=train\n");
  std::string switches;
  for (int i = 0; i < 8; ++i) {
    switches += fmt::format("SwitchName=leaf{} Nodes=gpu[{}-{}]\n", i, 16 * i + 1, 16 * i + 16);
  }
  const std::string topology = written("topology.conf", switches);
  const std::string out = testing::TempDir() + "mine.json";
  const ProgramResult result =
      run_program({"import", "cluster", nodes, topology, "--onto", "hgx-h100-400g", "--out", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("num_nodes: 8 -> 128"));
  const Json cluster = read_json(out);
  EXPECT_EQ(cluster["num_nodes"], 128);
  EXPECT_EQ(cluster["nodes_per_leaf"], 16);
  EXPECT_EQ(run_program({"cluster", "show", out, "--gpus", "16"}).exit_code, 0);
  const ProgramResult wrong =
      run_program({"import", "cluster", nodes, "--onto", "dgx-a100-80gb", "--out", out});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("is of h100"));
}

// busbw of 8 ranks: 1 GiB in 4.5 ms is 238.6 GB/s algorithm bandwidth.
std::string all_reduce_log(const std::string& device) {
  std::string log =
      "# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007\n"
      "# Collective test starting: all_reduce_perf\n";
  for (int rank = 0; rank < 8; ++rank) {
    log += "# Rank " + std::to_string(rank) + " Group 0 Pid 1 on host device " +
           std::to_string(rank) + " [0000:0f:00] " + device + "\n";
  }
  log += "#       size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  for (int power = 20; power <= 30; ++power) {
    const double size = static_cast<double>(1 << power);
    log += std::to_string(1 << power) + " 1 float sum -1 " +
           std::to_string(30.0 + size / 238609.0) + " 1 1 0 1 1 1 0\n";
  }
  return log;
}

TEST(ImportCluster, NcclTestsTeachAShippedCluster) {
  const std::string file = written("all_reduce.txt", all_reduce_log("NVIDIA H100"));
  const std::string out = testing::TempDir() + "taught.json";
  const ProgramResult result =
      run_program({"calibrate", "--import", file, "--onto", "hgx-h100-400g", "--out", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json cluster = read_json(out);
  EXPECT_EQ(cluster["schema"], "meshwright.cluster/1");
  ASSERT_EQ(cluster["intra_node"]["curves"].size(), 1U);
  EXPECT_EQ(cluster["intra_node"]["curves"][0]["points"].size(), 11U);
  EXPECT_EQ(cluster["num_nodes"], 8);  // what was not measured stays
  EXPECT_THAT(cluster["source"], HasSubstr("all_reduce.txt"));
  const ProgramResult estimate =
      run_program({"estimate", "--model", "llama-3-8b", "--cluster", out, "--gpus", "8", "--layout",
                   "tp=8,mbs=1,sp", "--global-batch-size", "8"});
  EXPECT_EQ(estimate.exit_code, 0) << estimate.err;
}

TEST(ImportCluster, AnotherDevicesTimesAreRefusedUnlessForced) {
  const std::string file = written("a40.txt", all_reduce_log("NVIDIA A40"));
  const std::string out = testing::TempDir() + "forced.json";
  const std::vector<std::string> command{"calibrate",     "--import", file, "--onto",
                                         "hgx-h100-400g", "--out",    out};
  const ProgramResult refused = run_program(command);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("a40.txt"));
  EXPECT_THAT(refused.err, HasSubstr("measured on another device (got NVIDIA A40"));
  EXPECT_THAT(refused.err, HasSubstr("NVIDIA H100 SXM5 80 GB"));
  std::vector<std::string> forced = command;
  forced.emplace_back("--force");
  const ProgramResult result = run_program(forced);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("imported with --force"));
}

// nvidia-smi sees the four devices of its tray; the domain has 72.
TEST(ImportCluster, ATrayKeepsTheRack) {
  const std::string topo = written(
      "tray.txt",
      "        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
      "GPU0     X      NV18    NV18    NV18    0-71    0               N/A\n"
      "GPU1    NV18     X      NV18    NV18    0-71    0               N/A\n"
      "GPU2    NV18    NV18     X      NV18    72-143  1               N/A\n"
      "GPU3    NV18    NV18    NV18     X      72-143  1               N/A\n");
  for (const auto& [base, devices, nodes] :
       {std::tuple{"gb200-nvl72", 72, 1}, std::tuple{"gb300-nvl72-64", 64, 8}}) {
    const std::string out = testing::TempDir() + "rack.json";
    const ProgramResult result =
        run_program({"import", "cluster", topo, "--onto", base, "--out", out});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("4 devices a host (a tray); the NVLink domain of " +
                                      std::to_string(devices)));
    EXPECT_EQ(read_json(out)["gpus_per_node"], devices);
    EXPECT_EQ(read_json(out).value("num_nodes", 1), nodes);
  }
}

TEST(ImportCluster, ANamedOtherDeviceIsRefusedUnlessForced) {
  const std::string smi = written("smi.txt", "GPU 0: NVIDIA A40 (UUID: GPU-1)\n");
  const std::string out = testing::TempDir() + "smi.json";
  std::vector<std::string> command{"import",        "cluster", smi, "--onto",
                                   "hgx-h100-400g", "--out",   out};
  EXPECT_EQ(run_program(command).exit_code, 2);
  command.emplace_back("--force");
  const ProgramResult forced = run_program(command);
  ASSERT_EQ(forced.exit_code, 0) << forced.err;
  EXPECT_THAT(forced.err, HasSubstr("CAUTION, forced"));
}

// Eight ranks on two trays of four: NVLink joins them.
TEST(ImportCluster, CollectivesOverTraysAreInsideTheDomain) {
  std::string log = all_reduce_log("NVIDIA GB200");
  for (int rank = 4; rank < 8; ++rank) {
    const std::string of_first = "Rank " + std::to_string(rank) + " Group 0 Pid 1 on host";
    log.insert(log.find(of_first) + of_first.size(), "B");
  }
  const std::string out = testing::TempDir() + "trays.json";
  const ProgramResult result = run_program(
      {"calibrate", "--import", written("trays.txt", log), "--onto", "gb200-nvl72", "--out", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("trays of one NVLink domain of 72"));
  EXPECT_EQ(read_json(out)["intra_node"]["curves"].size(), 1U);
}

TEST(ImportCluster, ProductsTeachAShippedCluster) {
  const std::string file = written(
      "mamf.txt", "mamf-finder --dtype bfloat16\nmedian: 700.0 TFLOPS @ 8192x4096x4096 (MxNxK)\n");
  const std::string out = testing::TempDir() + "products.json";
  const ProgramResult result =
      run_program({"calibrate", "--import", file, "--onto", "hgx-h100-400g", "--out", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(run_program({"cluster", "show", out}).exit_code, 0);
  EXPECT_THAT(read_json(out)["device"].dump(), HasSubstr("mamf.txt"));
}

}  // namespace
}  // namespace meshwright::test
