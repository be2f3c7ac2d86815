// SPDX-License-Identifier: Apache-2.0
#include "app/calibration_workload.h"

#include <algorithm>
#include <array>
#include <set>

#include "planner/search/space.h"
#include "sim/model/parameters.h"
#include "sim/operators/operators.h"
#include "sim/rules/rules.h"
#include "sim/volume/volume.h"

namespace meshwright::app {
namespace {

constexpr std::array kMicroBatches{1, 2, 4};

calibrate::GemmOperand second_operand(const Operator& op) {
  if (op.has_weight) return calibrate::GemmOperand::weight;
  return op.name == "attention.scores" ? calibrate::GemmOperand::transposed_activation
                                       : calibrate::GemmOperand::activation;
}

void add_gemms(calibrate::Workload& workload, const std::vector<Operator>& operators,
               double calls) {
  for (const Operator& op : operators) {
    if (op.kind != OperatorKind::gemm) continue;
    for (const calibrate::GemmVariant& variant :
         calibrate::training_variants({op.batch, op.m, op.n, op.k}, second_operand(op))) {
      workload.gemms.push_back({variant, calls});
    }
  }
}

struct KindOfLayer {
  LayerKind kind;
  int layers = 0;
};

std::vector<KindOfLayer> layers_of_kind(const Model& model) {
  std::vector<KindOfLayer> kinds;
  for (int layer = 0; layer < model.num_layers; ++layer) {
    const LayerKind kind = layer_kind(model, layer);
    auto found = std::find_if(kinds.begin(), kinds.end(),
                              [&](const KindOfLayer& k) { return k.kind == kind; });
    if (found == kinds.end()) found = kinds.insert(kinds.end(), {kind, 0});
    ++found->layers;
  }
  return kinds;
}

calibrate::KernelSizes kernel_sizes(const Model& model, const Job& job, int tensor_size) {
  calibrate::KernelSizes sizes;
  sizes.positions = job.seq_length;
  sizes.batch = 1;
  sizes.hidden = model.hidden_size;
  sizes.ffn = std::max(1, model.ffn_hidden_size / tensor_size);
  sizes.heads = std::max(1, model.num_attention_heads / tensor_size);
  if (sizes.hidden % sizes.heads != 0) sizes.heads = 1;
  const std::int64_t vocab =
      padded_vocab_size(model, job.make_vocab_size_divisible_by, tensor_size) / tensor_size;
  sizes.vocab = std::max<std::int64_t>(8, vocab);
  return sizes;
}

// Layouts that use all ranks and break no rule, without the switches.
std::vector<Layout> candidate_pipelines(const Model& model, const Job& job, int ranks) {
  Cluster cluster;
  cluster.gpus_per_node = ranks;
  planner::SearchSpace space;
  space[&Layout::micro_batch_size] = {kMicroBatches.begin(), kMicroBatches.end()};
  space[&Layout::schedule] = {kDefaultSchedule};
  std::vector<Layout> settings;
  for (const planner::ParallelSizes& sizes : planner::parallel_sizes_of(model, cluster, space)) {
    for (const Layout& layout : planner::pipeline_settings(model, job, space, sizes)) {
      if (!check_layout(model, job, layout, ranks)) settings.push_back(layout);
    }
  }
  return settings;
}

// With and without sequence parallel and a sharded optimizer: what decides which collectives run.
std::vector<Layout> candidate_layouts(const Model& model, const Job& job, const Layout& pipeline) {
  planner::SearchSpace space;
  space[&Layout::recompute_granularity] = {RecomputeGranularity::none};
  if (pipeline.data_parallel_size > 1) space[&Layout::zero_stage] = {0, 1};
  std::vector<Layout> members = planner::layouts_of(space, pipeline);
  std::erase_if(members, [&](const Layout& layout) {
    return check_layout(model, job, layout, 0).has_value();
  });
  return members;
}

void add_collectives(calibrate::Workload& workload, const Model& model, const Job& job,
                     const Layout& layout, double share) {
  const Volume moved = volume(model, job, layout);
  for (const Transfer& t : moved.busiest().transfers) {
    if (t.group_size < 2) continue;
    workload.collectives.push_back(
        {t.collective, t.group_size, t.payload, t.times_per_step * share});
  }
}

}  // namespace

calibrate::Workload calibration_workload(const Model& model, const Job& job, int ranks) {
  calibrate::Workload workload;
  // The job's own first.
  std::erase(workload.precisions, job.precision);
  workload.precisions.insert(workload.precisions.begin(), job.precision);
  Job measured = job;
  measured.attention_kernel = AttentionKernel::unfused;  // what a trial runs
  const std::vector<Layout> settings = candidate_pipelines(model, measured, ranks);
  std::set<int> tensor_sizes;
  for (const Layout& layout : settings) {
    const double share = 1.0 / static_cast<double>(settings.size());
    const double calls =
        share * num_micro_batches(job.global_batch_size, layout) / layout.pipeline_parallel_size;
    for (const auto& [kind, layers] : layers_of_kind(model)) {
      add_gemms(workload, layer_operators(model, kind, measured, layout), calls * layers);
    }
    add_gemms(workload, head_operators(model, measured, layout), calls);
    tensor_sizes.insert(layout.tensor_parallel_size);
    const std::vector<Layout> members = candidate_layouts(model, measured, layout);
    for (const Layout& member : members) {
      add_collectives(workload, model, measured, member,
                      share / static_cast<double>(members.size()));
    }
  }
  for (const int size : tensor_sizes) workload.kernels.push_back(kernel_sizes(model, job, size));
  return workload;
}

}  // namespace meshwright::app
