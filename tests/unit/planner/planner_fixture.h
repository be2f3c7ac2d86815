// SPDX-License-Identifier: Apache-2.0
// A small model on a small cluster, cheap enough to look at every layout twice.
#pragma once

#include "planner/search/search.h"
#include "tests/unit/small_gpt.h"

namespace meshwright::planner {

inline Model small_model() { return small_gpt(); }

// Eight-device nodes; 1e14 FLOP/s, 1e12 B/s of memory, links of 2e11 and 2.5e10 B/s.
inline Cluster small_cluster(int nodes, double memory_gib) {
  Cluster cluster;
  cluster.name = "test";
  cluster.num_nodes = nodes;
  cluster.device.name = "device";
  cluster.device.num_multiprocessors = 100;
  cluster.device.memory = gibibytes(memory_gib);
  cluster.device.memory_bandwidth = gigabytes_per_second(1000);
  cluster.device.kernel_launch = microseconds(2);
  cluster.device.host_link = gigabytes_per_second(20);
  GemmModel gemm;
  gemm.precision = Precision::bf16;
  gemm.peak = teraflops_per_second(100);
  gemm.sustained_fraction = 0.8;
  cluster.device.gemm.push_back(gemm);
  AttentionRate attention;
  attention.head_dim = 64;
  cluster.device.attention.push_back(attention);
  cluster.intra_node.bandwidth = gigabytes_per_second(200);
  cluster.intra_node.latency = microseconds(2);
  cluster.inter_node.bandwidth = gigabytes_per_second(25);
  cluster.inter_node.latency = microseconds(8);
  return cluster;
}

inline Job small_job() {
  Job job;
  job.seq_length = 1024;
  job.global_batch_size = 64;
  return job;
}

}  // namespace meshwright::planner
