// SPDX-License-Identifier: Apache-2.0
// A core with 10 GB/s and 100 GFLOP/s in fp32.
#pragma once

#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

inline Cluster cluster_of_one_core() {
  Cluster cluster;
  cluster.num_nodes = cluster.gpus_per_node = 1;
  cluster.device.kind = DeviceKind::cpu;
  cluster.device.memory = gibibytes(8);
  cluster.device.memory_bandwidth = gigabytes_per_second(10);
  GemmModel fp32;
  fp32.precision = Precision::fp32;
  fp32.peak = teraflops_per_second(0.1);
  fp32.tile_m = fp32.tile_n = 1;
  cluster.device.gemm = {fp32};
  return cluster;
}

}  // namespace meshwright::calibrate
