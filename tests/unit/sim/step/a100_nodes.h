// SPDX-License-Identifier: Apache-2.0
// Nodes of eight devices with an A100's peak, links of 300 and 25 GB/s.
#pragma once

#include "sim/hardware/cluster.h"

namespace meshwright {

inline Cluster a100_nodes(int nodes) {
  Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.num_nodes = nodes;
  Device& device = cluster.device;
  device.num_multiprocessors = 108;
  device.memory = gibibytes(80);
  device.memory_bandwidth = gigabytes_per_second(2000);
  device.host_link = gigabytes_per_second(25);
  GemmModel gemm;
  gemm.peak = teraflops_per_second(312);
  device.gemm = {gemm};
  device.attention = {AttentionRate{}};
  cluster.intra_node.bandwidth = gigabytes_per_second(300);
  cluster.intra_node.latency = microseconds(5);
  cluster.inter_node.bandwidth = gigabytes_per_second(25);
  cluster.inter_node.latency = microseconds(10);
  return cluster;
}

}  // namespace meshwright
