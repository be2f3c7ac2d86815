// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string all_notes(const ClusterFacts& facts) {
  std::string text;
  for (const std::string& note : facts.notes) text += note + "\n";
  return text;
}

std::string ibstat_of(const std::string& name, const std::string& state, int rate,
                      const std::string& layer) {
  return fmt::format(
      "CA '{}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.1002\n\tNode "
      "GUID: "
      "0x0001\n\tPort 1:\n\t\tState: {}\n\t\tPhysical state: LinkUp\n\t\tRate: {}\n\t\tBase lid: "
      "7\n\t\tCapability mask: 0xa751e848\n\t\tLink layer: {}\n",
      name, state, rate, layer);
}

// 400 Gb/s / 8 = 50 GB/s. One port of a paste says nothing of how many there are.
TEST(RdmaPorts, OnePortSaysItsRateAlone) {
  const ClusterFacts facts =
      read_cluster_facts(ibstat_of("mlx5_5", "Active", 400, "InfiniBand"), "ib.txt");
  EXPECT_EQ(facts.tool, "ibstat");
  EXPECT_EQ(facts.nic_gb_per_s, 50.0);
  EXPECT_FALSE(facts.ports_listed);
  EXPECT_THAT(all_notes(facts),
              AllOf(HasSubstr("InfiniBand up: 1 (mlx5_5), 400 Gb/s each: 50 GB/s"),
                    HasSubstr("number of NICs is kept")));
}

// Eight of InfiniBand, one of them down; two of Ethernet at 100.
TEST(RdmaPorts, InfinibandCountsAndEthernetBesideItDoesNot) {
  std::string text;
  for (int i = 0; i < 8; ++i) {
    text += ibstat_of("mlx5_" + std::to_string(i), i == 3 ? "Down" : "Active", i == 3 ? 10 : 400,
                      "InfiniBand");
  }
  text += ibstat_of("mlx5_8", "Active", 100, "Ethernet");
  text += ibstat_of("mlx5_9", "Down", 40, "Ethernet");
  const ClusterFacts facts = read_cluster_facts(text, "ib.txt");
  EXPECT_EQ(facts.ports_listed, 7);
  EXPECT_EQ(facts.nic_gb_per_s, 50.0);
  EXPECT_THAT(all_notes(facts), AllOf(HasSubstr("Ethernet beside InfiniBand: mlx5_8"),
                                      HasSubstr("down, not counted: mlx5_3, mlx5_9")));
}

TEST(RdmaPorts, WithoutInfinibandTheFastestEthernetCounts) {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += ibstat_of("mlx5_" + std::to_string(i), "Active", 200, "Ethernet");
  }
  text += ibstat_of("mlx5_4", "Active", 25, "Ethernet");
  const ClusterFacts facts = read_cluster_facts(text, "ib.txt");
  EXPECT_EQ(facts.ports_listed, 4);
  EXPECT_EQ(facts.nic_gb_per_s, 25.0);
  EXPECT_THAT(all_notes(facts), HasSubstr("slower: mlx5_4"));
}

TEST(RdmaPorts, IbstatusAndIbvDevinfoSayTheSame) {
  const std::string ibstatus =
      "Infiniband device 'mlx5_0' port 1 status:\n\tdefault gid:\t fe80::1\n\tbase lid:\t 0x7\n"
      "\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n\trate:\t\t 200 Gb/sec (4X HDR)\n"
      "\tlink_layer:\t InfiniBand\n\nInfiniband device 'mlx5_1' port 1 status:\n\tstate:\t\t 1: "
      "DOWN\n\trate:\t\t 10 Gb/sec (4X SDR)\n\tlink_layer:\t InfiniBand\n";
  const ClusterFacts facts = read_cluster_facts(ibstatus, "ib.txt");
  EXPECT_EQ(facts.ports_listed, 1);
  EXPECT_EQ(facts.nic_gb_per_s, 25.0);
  const std::string devinfo =
      "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t1\n\t\tport:\t1\n"
      "\t\t\tstate:\t\t\tPORT_ACTIVE "
      "(4)\n\t\t\tlink_layer:\t\tInfiniBand\n\t\t\tactive_width:\t\t4X "
      "(2)\n\t\t\tactive_speed:\t\t100.0 Gbps "
      "(128)\nhca_id:\tmlx5_1\n\t\tport:\t1\n\t\t\tstate:\t\t\t"
      "PORT_DOWN (1)\n\t\t\tlink_layer:\t\tInfiniBand\n";
  EXPECT_EQ(read_cluster_facts(devinfo, "ib.txt").nic_gb_per_s, 50.0);
  EXPECT_EQ(read_cluster_facts(devinfo, "ib.txt").ports_listed, 1);
}

// "(Down)" is of IP over InfiniBand: training does not need it.
TEST(RdmaPorts, Ibdev2netdevTellsInfinibandByTheInterfacesName) {
  const ClusterFacts facts = read_cluster_facts(
      "mlx5_0 port 1 ==> ibp26s0 (Down)\nmlx5_1   port  1  ==>  enp27s0f0np0   (Up)\n"
      "mlx5_2 port 1 ==> ib1 (Up)\n0000:1a:00.0 mlx5_3 (MT4129 - MCX75310AAS-NEAT) NVIDIA "
      "ConnectX-7 fw 28.39.1002 port 1 (ACTIVE) ==> ibp94s0 (Up)\n",
      "netdev.txt");
  EXPECT_EQ(facts.ports_listed, 3);
  EXPECT_FALSE(facts.nic_gb_per_s);
  EXPECT_THAT(all_notes(facts), AllOf(HasSubstr("InfiniBand up: 3 (mlx5_0, mlx5_2, mlx5_3)"),
                                      HasSubstr("no rate said"), HasSubstr("mlx5_1")));
  const ClusterFacts roce = read_cluster_facts(
      "mlx5_0 port 1 ==> eth0 (Up)\nmlx5_1 port 1 ==> eth1 (Up)\n", "netdev.txt");
  EXPECT_FALSE(roce.ports_listed);
  EXPECT_THAT(all_notes(roce), HasSubstr("which Ethernet ports carry training is not said"));
}

TEST(RdmaPorts, AHostThatIsDownIsRefused) {
  EXPECT_THAT(
      error_of([] { read_cluster_facts(ibstat_of("mlx5_0", "Down", 10, "InfiniBand"), "ib.txt"); }),
      HasSubstr("lists no port that is up; down: mlx5_0"));
}

}  // namespace
}  // namespace meshwright::interop
