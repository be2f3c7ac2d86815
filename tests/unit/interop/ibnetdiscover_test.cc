// SPDX-License-Identifier: Apache-2.0
// Subnets of a few hosts, typed as ibnetdiscover prints them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::HasSubstr;

std::string switch_line(const std::string& id) {
  return fmt::format(
      "\nvendid=0x2c9\ndevid=0xd2f2\nswitchguid=0x{0}({0})\nSwitch\t65 \"S-{0}\"\t\t# "
      "\"MF0;{0}:MQM9700/U1\" "
      "enhanced port 0 lid 4 lmc 0\n",
      id);
}
std::string host_link(int port, const std::string& host, int nic) {
  return fmt::format("[{0}]\t\"H-{1}{2}\"[1]({1}{2}) \t\t# \"{1} mlx5_{2}\" lid 12 4xNDR\n", port,
                     host, nic);
}
std::string up_link(int port, const std::string& id) {
  return fmt::format("[{0}]\t\"S-{1}\"[{0}]\t\t# \"MF0;{1}:MQM9700/U1\" lid 9 4xNDR\n", port, id);
}
std::string adapter(const std::string& host, int nic, const std::string& leaf) {
  return fmt::format(
      "\ncaguid=0x{0}{1}\nCa\t1 \"H-{0}{1}\"\t\t# \"{0} mlx5_{1}\"\n[1]({0}{1}) "
      "\t\"S-{2}\"[1]\t\t# lid 12 lmc "
      "0 \"MF0;{2}:MQM9700/U1\" lid 4 4xNDR\n",
      host, nic, leaf);
}

// Two rails of four hosts; two links up for four down: 2 to 1. Both leaves meet at one spine.
TEST(Ibnetdiscover, RailsLeavesAndOversubscription) {
  std::string text = "#\n# Topology file: generated on Mon Nov  3 10:00:00 2025\n#\n";
  for (const int rail : {0, 1}) {
    text += switch_line(fmt::format("leaf{}", rail));
    for (int host = 0; host < 4; ++host) {
      text += host_link(host + 1, fmt::format("gpu{}", host), rail);
    }
    text += up_link(33, "spine0") + up_link(34, "spine0");
    text +=
        "[41]\t\"H-aaaa\"[1](aaaa)\t# \"Mellanox Technologies Aggregation Node\" lid 14 4xHDR\n";
  }
  text += switch_line("spine0");
  for (const int rail : {0, 1}) text += up_link(1 + rail, fmt::format("leaf{}", rail));
  for (int host = 0; host < 4; ++host) {
    for (const int rail : {0, 1}) {
      text += adapter(fmt::format("gpu{}", host), rail, fmt::format("leaf{}", rail));
    }
  }
  const ClusterFacts facts = read_cluster_facts(text, "net.txt");
  EXPECT_EQ(facts.tool, "ibnetdiscover");
  EXPECT_EQ(facts.num_hosts, 4);
  EXPECT_EQ(facts.ports_listed, 2);
  EXPECT_EQ(facts.nic_gb_per_s, 50.0);
  EXPECT_EQ(facts.hosts_per_leaf, 4);
  EXPECT_EQ(facts.network, NetworkFabric::rail_optimised);
  EXPECT_EQ(facts.spine_oversubscription, 2.0);
  EXPECT_FALSE(facts.core_oversubscription);
  EXPECT_FALSE(facts.hosts_per_pod);
}

// Two leaves of two hosts with both NICs on each; a storage server beside.
TEST(Ibnetdiscover, AFatTreeHasBothNicsOnOneLeaf) {
  std::string text;
  for (const int leaf : {0, 1}) {
    text += switch_line(fmt::format("leaf{}", leaf));
    for (int host = 0; host < 2; ++host) {
      const std::string name = fmt::format("gpu{}", 2 * leaf + host);
      text += host_link(2 * host + 1, name, 0) + host_link(2 * host + 2, name, 1);
    }
    for (int port = 0; port < 4; ++port) text += up_link(40 + port, "spine0");
  }
  text += switch_line("leaf2") + host_link(1, "storage1", 0);
  const ClusterFacts facts = read_cluster_facts(text, "net.txt");
  EXPECT_EQ(facts.num_hosts, 4);
  EXPECT_EQ(facts.hosts_per_leaf, 2);
  EXPECT_EQ(facts.network, NetworkFabric::fat_tree);
  EXPECT_EQ(facts.spine_oversubscription, 1.0);
  EXPECT_THAT(facts.notes.front(), HasSubstr("4 hosts with 2 ports each count; 1 with another"));
}

// Leaves of two spines that only the core joins are two pods; two down, one up.
TEST(Ibnetdiscover, PodsMeetAtTheCore) {
  std::string text;
  for (const int pod : {0, 1}) {
    const std::string leaf = fmt::format("leaf{}", pod), spine = fmt::format("spine{}", pod);
    text += switch_line(leaf);
    for (int host = 0; host < 2; ++host) {
      text += host_link(host + 1, fmt::format("gpu{}", 2 * pod + host), 0);
    }
    text += up_link(33, spine) + up_link(34, spine);
    text += switch_line(spine) + up_link(1, leaf) + up_link(2, leaf) + up_link(3, "core0");
  }
  const ClusterFacts facts = read_cluster_facts(text, "net.txt");
  EXPECT_EQ(facts.hosts_per_pod, 2);
  EXPECT_EQ(facts.spine_oversubscription, 1.0);
  EXPECT_EQ(facts.core_oversubscription, 2.0);
  EXPECT_FALSE(facts.network);
}

TEST(Ibnetdiscover, AdaptersWithoutAHostsNameAreRefused) {
  const std::string text =
      switch_line("leaf0") +
      "[1]\t\"H-aa\"[1](aa)\t# \"MT4129 ConnectX7 Mellanox Technologies\" lid 3 "
      "4xNDR\n";
  EXPECT_THAT(error_and_hint_of([&] { read_cluster_facts(text, "net.txt"); }),
              testing::AllOf(HasSubstr("names no host"), HasSubstr("node description")));
}

}  // namespace
}  // namespace meshwright::interop
