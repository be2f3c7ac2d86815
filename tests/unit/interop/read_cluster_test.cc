// SPDX-License-Identifier: Apache-2.0
// Lists of hosts, broken XML, and facts laid over a cluster. What tools say: cases/cluster.
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

std::string xml_error(const std::string& text) {
  return error_of([&] { read_nccl_topology(text, "t.xml"); });
}

TEST(NcclTopology, SaysLineAndColumn) {
  EXPECT_THAT(xml_error("<a>\n  <b x=1/>\n</a>"), HasSubstr("t.xml:2:8"));
  EXPECT_THAT(xml_error("<a><b></a>"), HasSubstr("t.xml:1:9: as XML: start-end tags mismatch"));
  EXPECT_THAT(xml_error("<a x=\"1>"), HasSubstr("attribute"));
  EXPECT_THAT(xml_error("<!-- no end"), HasSubstr("comment"));
  EXPECT_THAT(xml_error("text"), HasSubstr("no document element"));
  EXPECT_THAT(xml_error("<a/>"), HasSubstr("begins with <a>, a topology with <system>"));
  EXPECT_THAT(xml_error("<system>\n x</system>"), HasSubstr("t.xml:1:9: as XML: has text"));
  EXPECT_THAT(xml_error("<system/>\n<system/>"), HasSubstr("t.xml:2:2: as XML: has a second"));
}

// Nothing of a document type is followed: an entity that stands for a billion others least.
TEST(NcclTopology, BombsAreRefused) {
  EXPECT_THAT(xml_error("<!DOCTYPE a [<!ENTITY b \"&c;&c;\">]><system x=\"&b;\"/>"),
              HasSubstr("has a document type"));
  const auto nested = [](int depth) {
    std::string text = "<system>";
    for (int i = 0; i < depth; ++i) text += "<a>";
    for (int i = 0; i < depth; ++i) text += "</a>";
    return text + "</system>";
  };
  EXPECT_THAT(xml_error(nested(50)), HasSubstr("holds no <gpu>"));
  EXPECT_THAT(xml_error(nested(51)), HasSubstr("deeper than 50"));
  EXPECT_THAT(xml_error(nested(90'000)), HasSubstr("deeper than 50"));
  EXPECT_THAT(xml_error(nested(100'000)), HasSubstr("more than 200,000 tags"));
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

}  // namespace
}  // namespace meshwright::interop
