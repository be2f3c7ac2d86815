// SPDX-License-Identifier: Apache-2.0
// Matrices as hosts print them: with management ports, lost links, trays, virtual machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Rows of GPUs with a cell for each column; NICs' own rows are never read.
std::string topo(int gpus, int nics, const std::function<std::string(int, int)>& cell) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += "\tGPU" + std::to_string(i);
  for (int i = 0; i < nics; ++i) text += "\tNIC" + std::to_string(i);
  text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (int row = 0; row < gpus; ++row) {
    text += "GPU" + std::to_string(row);
    for (int column = 0; column < gpus + nics; ++column) {
      text += "\t" + (column == row ? " X " : cell(row, column));
    }
    text += "\t0-79\t0\t\tN/A\n";
  }
  return text + "\nLegend:\n\n  X    = Self\n";
}

// GPU i is PIX to NIC 8 - i of nine: NIC0 is SYS to all.
TEST(NvidiaSmiTopoNics, APortThatIsBesideNoGpuIsNoNicOfTraining) {
  const std::string text = topo(8, 9, [](int row, int column) -> std::string {
    if (column < 8) return "NV18";
    if (column == 8) return "SYS";
    const int nic = column - 8;
    return nic == 8 - row ? "PIX" : (nic > 4) == (row < 4) ? "NODE" : "SYS";
  });
  const ClusterFacts facts = read_cluster_facts(text, "topo.txt");
  EXPECT_EQ(facts.nics_per_host, 8);
  ASSERT_EQ(facts.notes.size(), 2U);
  EXPECT_THAT(facts.notes[0], HasSubstr("8 NICs are PIX or PXB to a GPU and count; NIC0 to none"));
}

TEST(NvidiaSmiTopoNics, TheLegendNamesThem) {
  const std::string text = topo(2, 3,
                                [](int row, int column) -> std::string {
                                  return column < 2 ? "NV12" : column - 2 == row ? "PXB" : "NODE";
                                }) +
                           "NIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n  NIC2: mlx5_bond_0\n";
  const ClusterFacts facts = read_cluster_facts(text, "topo.txt");
  EXPECT_EQ(facts.nics_per_host, 2);
  EXPECT_THAT(facts.notes.front(), HasSubstr("NIC2 (mlx5_bond_0)"));
}

// Grace joins NICs itself; hypervisors show nothing near.
TEST(NvidiaSmiTopoNics, WhereNoneIsNearNoneIsCounted) {
  const std::string text =
      topo(4, 6, [](int, int column) -> std::string { return column < 4 ? "NV18" : "SYS"; });
  const ClusterFacts facts = read_cluster_facts(text, "topo.txt");
  EXPECT_EQ(facts.gpus_per_host, 4);
  EXPECT_FALSE(facts.nics_per_host);
  EXPECT_THAT(facts.notes.front(), HasSubstr("none of 6 NICs is PIX or PXB"));
}

TEST(NvidiaSmiTopo, AGpuWithoutNvlinkIsNamed) {
  const std::string text = topo(8, 0, [](int row, int column) -> std::string {
    return row == 2 || column == 2 ? "NODE" : "NV18";
  });
  const ClusterFacts facts = read_cluster_facts(text, "topo.txt");
  EXPECT_EQ(facts.gpus_per_host, 8);
  EXPECT_FALSE(facts.node_fabric);
  ASSERT_EQ(facts.notes.size(), 1U);
  EXPECT_THAT(facts.notes.front(),
              HasSubstr("GPU2 has no NVLink to any GPU, and GPU0, GPU1, GPU3"));
}

// GPU5 has 17 of 18 links to each of seven: 119 of 126.
TEST(NvidiaSmiTopo, AGpuThatLostALinkIsNamed) {
  const std::string text = topo(8, 0, [](int row, int column) -> std::string {
    return row == 5 || column == 5 ? "NV17" : "NV18";
  });
  const ClusterFacts facts = read_cluster_facts(text, "topo.txt");
  EXPECT_EQ(facts.node_fabric, NodeFabric::nvswitch);
  EXPECT_THAT(facts.notes.back(), HasSubstr("GPU5 has the fewest NVLinks, 119"));
  EXPECT_THAT(facts.notes.back(), HasSubstr("125 are the most"));
}

// Eight V100: NVLink joins four of the seven others.
TEST(NvidiaSmiTopo, ACubeMeshIsStillOne) {
  const std::string text = topo(8, 0, [](int row, int column) -> std::string {
    const bool same_half = (row < 4) == (column < 4);
    return same_half || column == (row + 4) % 8 ? "NV1" : "SYS";
  });
  EXPECT_THAT(read_cluster_facts(text, "topo.txt").notes.front(), HasSubstr("cube mesh"));
}

// nvidia-smi underlines its header; a terminal's paste keeps "[4m" alone; others glue columns.
TEST(NvidiaSmiTopo, EscapesAndGluedColumnsDoNotHideTheHeader) {
  const std::string rows =
      "GPU0\t X \tNV18\tPIX\tSYS\t0-55\t0\nGPU1\tNV18\t X \tSYS\tPIX\t0-55\t0\n";
  for (const char* header :
       {"\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\x1b[0m\n", "[4mGPU0 GPU1 NIC0 NIC1[0m\n",
        "        GPU0    GPU1    NIC0NIC1    CPU Affinity\n", "\tGPU0\tGPU1\tmlx5_0\tibp12s0\n"}) {
    const ClusterFacts facts = read_cluster_facts(header + rows, "topo.txt");
    EXPECT_EQ(facts.gpus_per_host, 2) << header;
    EXPECT_EQ(facts.nics_per_host, 2) << header;
  }
}

// A log holds several tools' words: all of them count.
TEST(NvidiaSmiTopo, NamesAndPortsBesideItAreRead) {
  const std::string text =
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n" +
      topo(2, 2,
           [](int row, int column) -> std::string {
             return column < 2 ? "NV18" : column - 2 == row ? "PIX" : "NODE";
           }) +
      "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n"
      "CA 'mlx5_1'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n";
  const ClusterFacts facts = read_cluster_facts(text, "host.log");
  EXPECT_THAT(facts.tool, HasSubstr("nvidia-smi topo -m, ibstat"));
  EXPECT_THAT(facts.devices, ElementsAre("NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(facts.nics_per_host, 2);
  EXPECT_EQ(facts.nic_gb_per_s, 50.0);
}

}  // namespace
}  // namespace meshwright::interop
