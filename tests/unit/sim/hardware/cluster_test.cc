// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/cluster.h"

#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/hardware/device_noun.h"

namespace meshwright {
namespace {

Cluster four_nodes_of_eight() {
  Cluster c;
  c.gpus_per_node = 8;
  c.num_nodes = 4;
  c.nics_per_node = 4;
  c.intra_node.bandwidth = gigabytes_per_second(300);
  c.inter_node.bandwidth = gigabytes_per_second(12.5);
  return c;
}

TEST(Cluster, CountsItsDevices) { EXPECT_EQ(four_nodes_of_eight().num_gpus(), 32); }

TEST(DeviceNoun, IsTheClustersOwn) {
  Cluster cluster = four_nodes_of_eight();
  EXPECT_EQ(device_noun(cluster), "GPU");
  EXPECT_EQ(device_noun(cluster, 32), "GPUs");
  EXPECT_EQ(with_device_noun("tokens/s/GPU of all GPUs", cluster), "tokens/s/GPU of all GPUs");
  cluster.device.kind = DeviceKind::cpu;
  EXPECT_EQ(device_noun(cluster), "core");
  EXPECT_EQ(device_noun(cluster, 0), "cores");
  EXPECT_EQ(with_device_noun("tokens/s/GPU of all GPUs", cluster), "tokens/s/core of all cores");
}

TEST(Cluster, FewerDevicesThanANodeAreAPartOfOneNode) {
  const Cluster part = scaled_to(four_nodes_of_eight(), 2);
  EXPECT_EQ(part.gpus_per_node, 2);
  EXPECT_EQ(part.num_nodes, 1);
  // 4 NICs for 8 devices: 1 for 2.
  EXPECT_EQ(part.nics_per_node, 1);
}

TEST(Cluster, MoreDevicesAreWholeNodes) {
  const Cluster grown = scaled_to(four_nodes_of_eight(), 1024);
  EXPECT_EQ(grown.gpus_per_node, 8);
  EXPECT_EQ(grown.num_nodes, 128);
  EXPECT_EQ(grown.nics_per_node, 4);
}

TEST(Cluster, APartOfANodeBesideWholeNodesIsRefused) {
  EXPECT_THROW(scaled_to(four_nodes_of_eight(), 12), InputError);
  EXPECT_THROW(scaled_to(four_nodes_of_eight(), 0), InputError);
}

TEST(Cluster, SeveralNodesNeedALinkBetweenThem) {
  Cluster alone = four_nodes_of_eight();
  alone.inter_node = {};
  EXPECT_NO_THROW(scaled_to(alone, 8));
  EXPECT_THROW(scaled_to(alone, 16), InputError);
}

// 1.1 of the framework times 2 of the machine; under other software nothing is known of the
// machine.
TEST(MachineFit, HoldsUnderTheFrameworkThatItWasFittedUnder) {
  Cluster cluster;
  cluster.framework.name = "software-2030";
  cluster.framework.gemm_time_factor = 1.1;
  cluster.framework.micro_batch_overhead = seconds(1);
  cluster.framework.relative_spread = 0.1;
  cluster.fit.framework = "software-2030";
  cluster.fit.gemm_time_factor = 2.0;
  cluster.fit.micro_batch_overhead = seconds(3);
  cluster.fit.relative_spread = 0.02;
  EXPECT_DOUBLE_EQ(cluster.gemm_time_factor(), 2.2);
  EXPECT_EQ(cluster.micro_batch_overhead(), seconds(4));
  EXPECT_EQ(cluster.relative_spread(), 0.02);
  cluster.framework.name = "other";
  EXPECT_EQ(cluster.gemm_time_factor(), 1.1);
  EXPECT_EQ(cluster.micro_batch_overhead(), seconds(1));
  EXPECT_EQ(cluster.relative_spread(), 0.1);
  EXPECT_FALSE(Cluster{}.fit_holds());
}

}  // namespace
}  // namespace meshwright
