// SPDX-License-Identifier: Apache-2.0
// Which points a calibration measures, and in which order: what weighs most in a step first, so
// that a short budget leaves out what matters least. Pure.
#pragma once

#include <string>
#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/bench/gemm_bench.h"
#include "calibrate/bench/kernel_bench.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

// What a model's layouts will run; without it, a general grid alone is measured.
struct Workload {
  std::vector<GemmVariant> gemms{};  // duplicates are allowed
  std::vector<KernelSizes> kernels{};
  std::vector<Precision> precisions{Precision::fp32, Precision::bf16};
};

// Shapes from vectors to large squares. A device of many multiprocessors gets larger ones.
std::vector<GemmVariant> general_gemms(int num_multiprocessors);
// Without repetitions, most FLOPs first.
std::vector<GemmVariant> ordered_gemms(std::vector<GemmVariant> gemms);

// 1 KiB to `largest` in powers of two.
std::vector<Bytes> payloads(Bytes largest);

// Where each rank of the job sits: the number of its node, nodes numbered by first appearance.
std::vector<int> node_numbers(const std::vector<std::string>& host_of_rank);

// Groups of one size over one tier. color_of_rank -1: that rank waits.
struct GroupPlan {
  int group_size = 2;
  Tier tier = Tier::intra_node;
  std::vector<int> color_of_rank;
};
// Inside a node: every size that divides its ranks, and powers of two; all groups at once, as
// tensor-parallel groups run. Across nodes, one group alone: one rank a node where that is enough,
// else whole nodes.
std::vector<GroupPlan> group_plans(const std::vector<int>& node_of_rank);

}  // namespace meshwright::calibrate
