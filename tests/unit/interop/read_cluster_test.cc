// SPDX-License-Identifier: Apache-2.0
// Texts of our own in the shape of each tool's, with the traps that such texts have.
#include "interop/read_cluster/read_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_cluster/hostlist.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string facts_error(const std::string& text) {
  return error_of([&] { read_cluster_facts(text, "machine.txt"); });
}

TEST(Hostlist, KeepsZerosAndMultipliesBrackets) {
  EXPECT_THAT(expanded_hostlist("tux[0-2,12],login", {}),
              ElementsAre("tux0", "tux1", "tux2", "tux12", "login"));
  EXPECT_THAT(expanded_hostlist("gpu[098-101]", {}),
              ElementsAre("gpu098", "gpu099", "gpu100", "gpu101"));
  EXPECT_EQ(expanded_hostlist("r[1-3]n[0-7]", {}).size(), 3U * 8U);
  EXPECT_TRUE(expanded_hostlist("", {}).empty());
}

TEST(Hostlist, RefusesWhatIsNone) {
  for (const char* wrong :
       {"gpu[1-", "gpu[3-1]", "gpu[a]", "gpu1]", "gpu[[1]]", "n[0-200000]", "a[0-999]b[0-999]"}) {
    EXPECT_THROW(expanded_hostlist(wrong, {"t.conf", 3}), InputError) << wrong;
  }
}

// Indented, behind prefixes, with a NIC's short row and two tabs before the last column.
TEST(NvidiaSmiTopo, IsFoundInALog) {
  const std::string text =
      "host1: + nvidia-smi topo -m\r\n"
      "host1:  \tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\t\tGPU NUMA ID\r\n"
      "host1: GPU0\t X \tNV18\tNV18\tNV18\tPIX\tSYS\t0-55,112-167\t0\t\tN/A\r\n"
      "host1: GPU1\tNV18\t X \tNV18\tNV18\tNODE\tSYS\t0-55,112-167\t0\t\tN/A\r\n"
      "host1: GPU2\tNV18\tNV18\t X \tNV18\tSYS\tPIX\t56-111\t1\t\tN/A\r\n"
      "host1: GPU3\tNV18\tNV18\tNV18\t X \tSYS\tNODE\t56-111\t1\t\tN/A\r\n"
      "host1: NIC0\tPIX\tNODE\tSYS\tSYS\t X \tSYS\r\n"
      "\r\nhost1: Legend:\r\n  X    = Self\r\n";
  const ClusterFacts facts = read_cluster_facts(text, "log.txt");
  EXPECT_EQ(facts.gpus_per_host, 4);
  EXPECT_EQ(facts.nics_per_host, 2);
  EXPECT_EQ(facts.node_fabric, NodeFabric::nvswitch);
  EXPECT_EQ(facts.gpus_per_island, 0);
  ASSERT_EQ(facts.notes.size(), 1U);
  EXPECT_THAT(facts.notes.front(), HasSubstr("18 NVLinks"));
}

TEST(NvidiaSmiTopo, BridgesArePairsAndNothingIsAPlainHost) {
  const std::string pairs =
      "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n"
      "GPU0\t X \tNV12\tSYS\tSYS\t0-15\nGPU1\tNV12\t X \tSYS\tSYS\t0-15\n"
      "GPU2\tSYS\tSYS\t X \tNV12\t0-15\nGPU3\tSYS\tSYS\tNV12\t X \t0-15\n";
  const ClusterFacts facts = read_cluster_facts(pairs, "topo");
  EXPECT_EQ(facts.node_fabric, NodeFabric::pcie);
  EXPECT_EQ(facts.gpus_per_island, 2);
  EXPECT_FALSE(facts.nics_per_host);
  const ClusterFacts plain = read_cluster_facts("\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n", "t");
  EXPECT_EQ(plain.node_fabric, NodeFabric::pcie);
  EXPECT_EQ(plain.gpus_per_island, 0);
}

TEST(NvidiaSmiTopo, SaysWhereARowIsShort) {
  EXPECT_THAT(facts_error("\tGPU0\tGPU1\nGPU0\tX\n"), HasSubstr("machine.txt:2"));
  EXPECT_THAT(facts_error("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV4\tNV4\n"), HasSubstr("1 rows follow"));
}

std::string nccl_host(const std::string& hash, const std::string& nvlinks) {
  std::string text = "  <cpu host_hash=\"" + hash + "\" numaid=\"0\" affinity=\"ff\">\n";
  for (int i = 0; i < 4; ++i) {
    text += "    <pci busid=\"0000:0" + std::to_string(i) + ":00.0\" link_speed=\"\">\n";
    text += "      <gpu dev=\"" + std::to_string(i) + "\" sm=\"90\" rank=\"0\" gdr=\"1\">\n";
    text += nvlinks + "      </gpu>\n    </pci>\n";
    text += "    <nic><net name=\"mlx5_" + std::to_string(i) +
            "\" dev=\"0\" speed=\"400000\" port=\"1\"/></nic>\n";
  }
  return text + "    <nic><net name=\"eth0\" speed=\"10000\"/></nic>\n  </cpu>\n";
}

// 400,000 Mb/s / 8 = 50 GB/s; 5 + 4 + 5 + 4 links to four switches.
TEST(NcclTopology, CountsDevicesLinksAndNics) {
  const std::string to_switches =
      "<nvlink target=\"a\" count=\"5\" tclass=\"0x068000\"/><nvlink target=\"b\" count=\"4\" "
      "tclass=\"0x068000\"/><nvlink target=\"c\" count=\"5\" tclass=\"0x068000\"/><nvlink "
      "target='d' count='4' tclass='0x068000'/>";
  const ClusterFacts facts = read_cluster_facts(
      "\xEF\xBB\xBF<?xml version='1.0'?>\n<!-- a dump -->\n<system version=\"1\">\n" +
          nccl_host("0x1", to_switches) + "</system>\n",
      "topo.xml");
  EXPECT_EQ(facts.gpus_per_host, 4);
  EXPECT_EQ(facts.node_fabric, NodeFabric::nvswitch);
  EXPECT_EQ(facts.nics_per_host, 4);
  EXPECT_EQ(facts.nic_gb_per_s, 50.0);
  EXPECT_FALSE(facts.hosts_per_domain);
  // 18 x 20.6 = 370.8
  EXPECT_THAT(facts.notes.back(), HasSubstr("370.8 GB/s"));
  const ClusterFacts both = read_cluster_facts(
      "<system>" + nccl_host("0x1", "") + nccl_host("0x2", "") + "</system>", "two.xml");
  EXPECT_EQ(both.gpus_per_host, 4);
  EXPECT_EQ(both.hosts_per_domain, 2);
}

TEST(NcclTopology, SaysLineAndColumn) {
  const auto error = [](const std::string& text) {
    try {
      read_nccl_topology(text, "t.xml");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(error("<a>\n  <b x=1/>\n</a>"), HasSubstr("t.xml:2:8"));
  EXPECT_THAT(error("<a><b></a>"), HasSubstr("t.xml:1:9: as XML: start-end tags mismatch"));
  EXPECT_THAT(error("<a x=\"1>"), HasSubstr("attribute"));
  EXPECT_THAT(error("<!-- no end"), HasSubstr("comment"));
  EXPECT_THAT(error("text"), HasSubstr("no document element"));
  EXPECT_THAT(error("<a/>"), HasSubstr("begins with <a>, a topology with <system>"));
  EXPECT_THAT(error("<system>\n x</system>"), HasSubstr("t.xml:1:9: as XML: has text"));
  EXPECT_THAT(error("<system/>\n<system/>"), HasSubstr("t.xml:2:2: as XML: has a second"));
}

// Nothing of a document type is followed: an entity that stands for a billion others least.
TEST(NcclTopology, BombsAreRefused) {
  const auto error = [](const std::string& text) {
    try {
      read_nccl_topology(text, "t.xml");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(error("<!DOCTYPE a [<!ENTITY b \"&c;&c;\">]><system x=\"&b;\"/>"),
              HasSubstr("has a document type"));
  const auto nested = [](int depth) {
    std::string text = "<system>";
    for (int i = 0; i < depth; ++i) text += "<a>";
    for (int i = 0; i < depth; ++i) text += "</a>";
    return text + "</system>";
  };
  EXPECT_THAT(error(nested(50)), HasSubstr("holds no <gpu>"));
  EXPECT_THAT(error(nested(51)), HasSubstr("deeper than 50"));
  EXPECT_THAT(error(nested(90'000)), HasSubstr("deeper than 50"));
  EXPECT_THAT(error(nested(100'000)), HasSubstr("more than 200,000 tags"));
}

TEST(SlurmTopology, TreesHaveLeavesAndPods) {
  const ClusterFacts facts = read_cluster_facts(
      "# three levels\r\nSwitchName=leaf0 Nodes=gpu[000-015]\r\nswitchname=leaf1 \\\n  "
      "NODES=gpu[016-031] LinkSpeed=1\nSwitchName=leaf2 Nodes=gpu[032-047]\nSwitchName=spine0 "
      "Switches=leaf[0-1]\nSwitchName=spine1 Switches=leaf2\nSwitchName=core Switches=spine[0-1]\n",
      "topology.conf");
  EXPECT_EQ(facts.num_hosts, 48);
  EXPECT_EQ(facts.hosts_per_leaf, 16);
  EXPECT_EQ(facts.hosts_per_pod, 32);
  EXPECT_FALSE(facts.hosts_per_domain);
}

TEST(SlurmTopology, BlocksAreDomains) {
  const ClusterFacts conf = read_cluster_facts(
      "BlockName=b1 Nodes=n[01-18]\nBlockName=b2 Nodes=n[19-36]\nBlockSizes=18,36\n", "t.conf");
  EXPECT_EQ(conf.num_hosts, 36);
  EXPECT_EQ(conf.hosts_per_domain, 18);
  const ClusterFacts yaml = read_cluster_facts(
      "- topology: racks\n  cluster_default: true\n  block:\n    block_sizes: [18, 36]\n    "
      "blocks:\n      - {block: b1, nodes: 'n[01-18]'}\n      - {block: b2, nodes: 'n[19-36]'}\n",
      "topology.yaml");
  EXPECT_EQ(yaml.num_hosts, 36);
  EXPECT_EQ(yaml.hosts_per_domain, 18);
}

TEST(SlurmTopology, YamlTreesAndTheirMistakes) {
  const ClusterFacts facts = read_cluster_facts(
      "- topology: ib\n  tree:\n    switches:\n      - switch: s0\n        nodes: dev[0-5]\n      "
      "- switch: s1\n        nodes: dev[6-9]\n      - switch: top\n        children: s[0-1]\n",
      "topology.yaml");
  EXPECT_EQ(facts.num_hosts, 10);
  EXPECT_EQ(facts.hosts_per_leaf, 6);
  EXPECT_THAT(facts.notes.front(), HasSubstr("4 to 6 hosts"));
  EXPECT_THAT(facts_error("SwitchName=a Switches=b\n"), HasSubstr("no switch is named b"));
  EXPECT_THAT(facts_error("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n"),
              HasSubstr("machine.txt:2: switch a is listed twice"));
  EXPECT_THAT(facts_error("SwitchName=a Switches=b Nodes=x\nSwitchName=b Switches=a\n"),
              HasSubstr("below themselves"));
}

TEST(SlurmNodes, CountsHostsThatAreUp) {
  const ClusterFacts facts = read_cluster_facts(
      "NodeName=gpu001 Arch=x86_64 CoresPerSocket=56\n   Gres=gpu:h100:8(S:0-1)\n   "
      "State=ALLOCATED ThreadsPerCore=2\n   CfgTRES=cpu=224,mem=2T,gres/gpu=8\n\n"
      "NodeName=gpu[002-016] Gres=gpu:h100:8 State=MIXED\nNodeName=gpu017 Gres=gpu:h100:8 "
      "State=IDLE+DRAIN\nNodeName=cpu[1-4] Gres=(null) State=IDLE\n",
      "nodes.txt");
  EXPECT_EQ(facts.num_hosts, 16);
  EXPECT_EQ(facts.gpus_per_host, 8);
  EXPECT_THAT(facts.devices, ElementsAre("h100"));
  EXPECT_EQ(facts.notes.size(), 2U);
  EXPECT_THAT(facts_error("NodeName=a Gres=gpu:a100:4\nNodeName=b Gres=gpu:h100:8\n"),
              HasSubstr("several kinds"));
  EXPECT_THAT(facts_error("NodeName=a Gres=(null) State=IDLE\n"), HasSubstr("no host with GPUs"));
  EXPECT_THAT(facts_error("NodeName= Gres=gpu:h100:8\n"), HasSubstr("NodeName= names no host"));
}

TEST(Topograph, LayersAndDomains) {
  const ClusterFacts facts = read_cluster_facts(R"({"instances": [
    {"id": "a", "network_layers": ["leaf-1", "spine-1"],
     "labels": {"accelerator.topograph.run/domain": "nvl-1"}},
    {"id": "b", "network_layers": ["leaf-1", "spine-1"],
     "labels": {"accelerator.topograph.run/domain": "nvl-1"}},
    {"id": "c", "network_layers": ["leaf-2", "spine-2"],
     "labels": {"accelerator.topograph.run/domain": "nvl-2"}}]})",
                                                "graph.json");
  EXPECT_EQ(facts.num_hosts, 3);
  EXPECT_EQ(facts.hosts_per_leaf, 2);
  EXPECT_EQ(facts.hosts_per_pod, 2);
  EXPECT_EQ(facts.hosts_per_domain, 2);
  EXPECT_THAT(facts_error(R"({"instances": [{"network_layers": []}]})"), HasSubstr("/instances/0"));
}

Cluster eight() {
  Cluster c;
  c.device.name = "NVIDIA H100 SXM5 80 GB";
  c.gpus_per_node = 8;
  c.num_nodes = 8;
  c.inter_node.bandwidth = gigabytes_per_second(50);
  return c;
}

// Four NICs of 50 GB/s for eight devices are 25 GB/s a device.
TEST(OverlaidCluster, TakesSizesAndLineRates) {
  const ClusterFacts facts =
      merged({{.tool = "a", .gpus_per_host = 8, .nics_per_host = 4, .nic_gb_per_s = 50.0},
              {.tool = "b",
               .gpus_per_host = 8,
               .num_hosts = 32,
               .hosts_per_leaf = 16,
               .devices = {"h100"}}});
  const OverlaidCluster made = overlaid(eight(), facts, "files");
  EXPECT_EQ(made.cluster.num_nodes, 32);
  EXPECT_EQ(made.cluster.nics_per_node, 4);
  EXPECT_EQ(made.cluster.nodes_per_leaf, 16);
  EXPECT_DOUBLE_EQ(made.cluster.inter_node.bandwidth / gigabytes_per_second(1), 25.0);
  EXPECT_EQ(made.changes.size(), 4U);
}

// 36 trays of four devices in domains of 18 are two nodes of 72.
TEST(OverlaidCluster, DomainsAreNodes) {
  Cluster rack = eight();
  rack.device.name = "NVIDIA GB200 186 GB";
  ClusterFacts facts{.tool = "t", .gpus_per_host = 4, .num_hosts = 36, .hosts_per_domain = 18};
  const OverlaidCluster made = overlaid(rack, facts, "f");
  EXPECT_EQ(made.cluster.gpus_per_node, 72);
  EXPECT_EQ(made.cluster.num_nodes, 2);
  facts.num_hosts = 35;
  EXPECT_THROW(overlaid(rack, facts, "f"), InputError);
}

Cluster racks(int gpus_per_node) {
  Cluster rack = eight();
  rack.device.name = "NVIDIA GB200 186 GB";
  rack.gpus_per_node = gpus_per_node;
  rack.gpus_per_tray = 4;
  if (gpus_per_node == 64) rack.gpus_per_domain = 72;
  return rack;
}

// A tray shows its own four devices: 72 / 4 = 18 trays, and four NICs each are 72.
TEST(OverlaidCluster, ATrayDoesNotShrinkTheDomain) {
  const ClusterFacts tray{.tool = "topo", .gpus_per_host = 4, .nics_per_host = 4};
  const OverlaidCluster made = overlaid(racks(72), tray, "f");
  EXPECT_EQ(made.cluster.gpus_per_node, 72);
  EXPECT_EQ(made.cluster.num_nodes, 8);
  EXPECT_TRUE(made.changes.empty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_THAT(made.notes.front(),
              HasSubstr("4 devices a host (a tray); the NVLink domain of 72 spans 18 such hosts"));
  EXPECT_EQ(overlaid(racks(64), tray, "f").cluster.num_gpus(), 512);
  const Cluster pairs = overlaid(racks(36), {.tool = "t", .gpus_per_host = 2}, "f").cluster;
  EXPECT_EQ(pairs.gpus_per_node, 36);
  EXPECT_EQ(pairs.gpus_per_tray, 2);
  EXPECT_THROW(overlaid(racks(72), {.tool = "t", .gpus_per_host = 5}, "f"), InputError);
}

// Two racks of 18 hosts; Slurm alone does not say what NVLink joins.
TEST(OverlaidCluster, HostsOfRacksAreTrays) {
  const ClusterFacts slurm{.tool = "scontrol", .gpus_per_host = 4, .num_hosts = 36};
  const OverlaidCluster made = overlaid(racks(72), slurm, "f");
  EXPECT_EQ(made.cluster.gpus_per_node, 72);
  EXPECT_EQ(made.cluster.num_nodes, 2);
  // 64 of each rack's 72 are used: 36 hosts are two racks, and 32 hosts two parts of 16.
  EXPECT_EQ(overlaid(racks(64), slurm, "f").cluster.num_nodes, 2);
  EXPECT_EQ(overlaid(racks(64), {.tool = "s", .gpus_per_host = 4, .num_hosts = 32}, "f")
                .cluster.num_nodes,
            2);
  EXPECT_THROW(overlaid(racks(72), {.tool = "s", .gpus_per_host = 4, .num_hosts = 35}, "f"),
               InputError);
}

TEST(OverlaidCluster, ATrayAloneIsTheWholeDomain) {
  const OverlaidCluster made = overlaid(racks(4), {.tool = "t", .gpus_per_host = 4}, "f");
  EXPECT_EQ(made.cluster.gpus_per_node, 4);
  EXPECT_TRUE(made.notes.empty());
}

TEST(OverlaidCluster, FewerDevicesOfAHostAreSaid) {
  const OverlaidCluster made = overlaid(eight(), {.tool = "t", .gpus_per_host = 4}, "f");
  EXPECT_EQ(made.cluster.gpus_per_node, 4);
  EXPECT_THAT(made.notes.front(), HasSubstr("4 devices are seen, and the cluster's node has 8"));
}

TEST(OverlaidCluster, OtherDevicesAndLinksAreRefusedUnlessForced) {
  const ClusterFacts a40{.tool = "t", .gpus_per_host = 8, .devices = {"NVIDIA A40"}};
  EXPECT_THAT(error_and_hint_of([&] { overlaid(eight(), a40, "f"); }),
              testing::AllOf(HasSubstr("is of NVIDIA A40"), HasSubstr("--force")));
  EXPECT_THAT(overlaid(eight(), a40, "f", true).notes.front(), HasSubstr("CAUTION, forced"));
  const ClusterFacts ampere{.tool = "t", .compute_capability = 86};
  EXPECT_THAT(error_of([&] { overlaid(eight(), ampere, "f"); }),
              HasSubstr("capability 8.6, and the cluster's NVIDIA H100 SXM5 80 GB has 9.0"));
  const ClusterFacts plain{
      .tool = "t", .gpus_per_host = 8, .gpus_per_island = 0, .node_fabric = NodeFabric::pcie};
  EXPECT_THAT(error_of([&] { overlaid(eight(), plain, "f"); }), HasSubstr("shows no NVLink"));
}

// Listed ports count where nothing better is known; the line rate is of one NIC.
TEST(OverlaidCluster, ListedPortsAreNicsUnlessATopologyCountsThem) {
  const ClusterFacts ports{.tool = "ibstat", .ports_listed = 4, .nic_gb_per_s = 25.0};
  const OverlaidCluster made = overlaid(eight(), ports, "f");
  EXPECT_EQ(made.cluster.nics_per_node, 4);
  EXPECT_DOUBLE_EQ(made.cluster.inter_node.bandwidth / gigabytes_per_second(1), 12.5);
  const OverlaidCluster both =
      overlaid(eight(), merged({ports, {.tool = "topo", .nics_per_host = 8}}), "f");
  EXPECT_EQ(both.cluster.nics_per_node, 0);  // one a device, as it was
  EXPECT_DOUBLE_EQ(both.cluster.inter_node.bandwidth / gigabytes_per_second(1), 25.0);
  EXPECT_THAT(both.notes.front(), HasSubstr("4 ports are listed, and 8 NICs"));
}

TEST(OverlaidCluster, RefusesContradictions) {
  EXPECT_THROW(merged({{.tool = "a", .gpus_per_host = 8}, {.tool = "b", .gpus_per_host = 4}}),
               InputError);
  EXPECT_THROW(overlaid(eight(), {.tool = "t", .devices = {"a100"}}, "f"), InputError);
  EXPECT_THROW(overlaid(eight(), {.tool = "t", .gpus_per_island = 2}, "f"), InputError);
}

TEST(ClusterFacts, WhatIsNoneSaysWhatIsRead) {
  const std::string said = error_and_hint_of([] { read_cluster_facts("hello", "machine.txt"); });
  EXPECT_THAT(said, HasSubstr("nothing about a machine"));
  EXPECT_THAT(said, HasSubstr("hint: read are " + cluster_formats_text()));
  EXPECT_THAT(said, HasSubstr("Slurm's topology.yaml"));
  EXPECT_THAT(facts_error(""), HasSubstr("nothing about a machine"));
}

}  // namespace
}  // namespace meshwright::interop
