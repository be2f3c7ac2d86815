// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/node_count.h"

#include <gtest/gtest.h>

#include "sim/json/records.h"
#include "tests/unit/error_of.h"

namespace meshwright {
namespace {

// A rack: 72 devices on 18 trays of four.
Cluster racks() {
  return cluster_from_json(Json::parse(R"({
    "schema": "meshwright.cluster/1", "name": "racks", "gpus_per_node": 72, "num_nodes": 1,
    "device": {"schema": "meshwright.device/1", "name": "chip", "num_multiprocessors": 100,
               "memory_gib": 80, "memory_bandwidth_gb_per_s": 2000, "kernel_launch_us": 2,
               "gemm": [{"precision": "bf16", "peak_tflops": 300, "provenance": "fitted"}]},
    "intra_node": {"bandwidth_gb_per_s": 900}, "inter_node": {"bandwidth_gb_per_s": 50}
  })"),
                           "racks.json");
}

struct Case {
  int gpus, domains, used;
};

TEST(NodeCount, TraysFillTheFewestDomainsEvenly) {
  // 1,024 are 14.2 domains; 256 trays divide by 16, not by 15. 2,496 are 34.7; 624 trays divide by
  // 39.
  for (const Case& c :
       {Case{1, 1, 1}, Case{4, 1, 4}, Case{8, 1, 8}, Case{36, 1, 36}, Case{64, 1, 64},
        Case{72, 1, 72}, Case{96, 2, 48}, Case{128, 2, 64}, Case{144, 2, 72}, Case{256, 4, 64},
        Case{512, 8, 64}, Case{576, 8, 72}, Case{1024, 16, 64}, Case{2496, 39, 64}}) {
    EXPECT_EQ(node_fill(racks(), c.gpus), (NodeFill{c.used, c.domains})) << c.gpus;
    const Cluster scaled = scaled_to(racks(), c.gpus);
    EXPECT_EQ(scaled.num_gpus(), c.gpus);
    EXPECT_EQ(scaled.domain_size(), 72);
  }
}

// 25 trays are no two equal parts, and a fifth of them fills less than half of a domain.
TEST(NodeCount, WhatIsUnevenIsRefusedWithTheNearestCounts) {
  EXPECT_EQ(
      error_and_hint_of([] { scaled_to(racks(), 100); }),
      "100 devices do not fill NVLink domains of 72 evenly with whole trays of 4 hint: use 96 "
      "(2 x 48) or 104 (2 x 52) (domains x devices)");
  EXPECT_EQ(
      error_and_hint_of([] { scaled_to(racks(), 6); }),
      "6 devices do not fill NVLink domains of 72 evenly with whole trays of 4 hint: use 4 (1 x "
      "4) or 8 (1 x 8) (domains x devices)");
  EXPECT_FALSE(node_fill(racks(), 0));
}

TEST(NodeCount, WithoutTraysNodesAreWholeOrAPartOfOne) {
  Cluster servers = racks();
  servers.gpus_per_node = 8;
  servers.gpus_per_tray = 0;
  EXPECT_EQ(node_fill(servers, 6), (NodeFill{6, 1}));
  EXPECT_EQ(node_fill(servers, 24), (NodeFill{8, 3}));
  EXPECT_EQ(error_and_hint_of([&] { scaled_to(servers, 12); }),
            "12 devices are no whole number of nodes of 8 hint: use 8 or 16");
}

// From 64 of 72 to another count and back: the domain is remembered.
TEST(NodeCount, APartOfADomainGrowsToAWholeOne) {
  const Cluster part = scaled_to(racks(), 256);
  EXPECT_EQ(scaled_to(part, 288), [] {
    Cluster whole = racks();
    whole.num_nodes = 4;
    return whole;
  }());
  EXPECT_EQ(cluster_from_json(to_json(part), "again.json").domain_size(), 72);
}

// A rack without trays stays one when it is written and read.
TEST(NodeCount, TraysOfARackAreUsualUnlessItSaysOtherwise) {
  Cluster c = racks();
  for (const int tray : {0, 4, 8}) {
    c.gpus_per_tray = tray;
    EXPECT_EQ(cluster_from_json(to_json(c), "again.json").gpus_per_tray, tray);
  }
  Json json = to_json(c);
  json.erase("gpus_per_tray");
  EXPECT_EQ(cluster_from_json(json, "old.json").gpus_per_tray, 4);
}

// 18 NICs, one a tray: 16 in 64 of 72 devices. One a device needs no number.
TEST(NodeCount, NicsFollowTheirTrays) {
  Cluster few = racks();
  few.nics_per_node = 18;
  EXPECT_EQ(scaled_to(few, 256).nics_per_node, 16);
  EXPECT_EQ(scaled_to(racks(), 256).nics_per_node, 0);
  EXPECT_EQ(scaled_to(racks(), 256).num_rails(), 64);
}

TEST(NodeCount, MoreDomainsNeedANetwork) {
  Cluster alone = racks();
  alone.inter_node = {};
  EXPECT_TRUE(has_count(alone, 36));
  EXPECT_FALSE(has_count(alone, 144));
  EXPECT_TRUE(has_count(racks(), 144));
}

TEST(NodeCount, TheUsedShareIsSaid) {
  EXPECT_EQ(used_share_text(racks()), "");
  EXPECT_EQ(used_share_text(scaled_to(racks(), 256)),
            "64 of each NVLink domain's 72 GPUs are used.");
  EXPECT_EQ(used_share_text(scaled_to(racks(), 8)), "8 of the NVLink domain's 72 GPUs are used.");
}

}  // namespace
}  // namespace meshwright
