// SPDX-License-Identifier: Apache-2.0
#include "calibrate/workload.h"

#include <algorithm>
#include <set>

#include "sim/model/parameters.h"
#include "sim/operators/operators.h"
#include "sim/volume/volume.h"

namespace meshwright::calibrate {
namespace {

GemmOperand second_operand(const Operator& op) {
  if (op.has_weight) return GemmOperand::weight;
  return op.name == "attention.scores" ? GemmOperand::transposed_activation
                                       : GemmOperand::activation;
}

void add_gemms(Workload& workload, const std::vector<Operator>& operators, double calls) {
  for (const Operator& op : operators) {
    if (op.kind != OperatorKind::gemm) continue;
    for (const GemmVariant& variant :
         training_variants({op.batch, op.m, op.n, op.k}, second_operand(op))) {
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

KernelSizes kernel_sizes(const Model& model, const Job& job, int tensor_size) {
  KernelSizes sizes;
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

// Micro-batches pass a stage's share of the layers; a stage in so many has the head.
void add_products(Workload& workload, const Model& model, const Job& job, const Layout& layout,
                  double share) {
  const double calls =
      share * num_micro_batches(job.global_batch_size, layout) / layout.pipeline_parallel_size;
  for (const auto& [kind, layers] : layers_of_kind(model)) {
    add_gemms(workload, layer_operators(model, kind, job, layout), calls * layers);
  }
  add_gemms(workload, head_operators(model, job, layout), calls);
}

void add_collectives(Workload& workload, const Model& model, const Job& job, const Layout& layout,
                     double share) {
  const Volume moved = volume(model, job, layout);
  for (const Transfer& t : moved.busiest().transfers) {
    if (t.group_size < 2) continue;
    workload.collectives.push_back(
        {t.collective, t.group_size, t.payload, t.times_per_step * share});
  }
}

}  // namespace

Job as_trials_run_it(Job job) {
  job.attention_kernel = AttentionKernel::unfused;
  return job;
}

Workload workload_of(const Model& model, const Job& job, const std::vector<LayoutGroup>& groups) {
  Workload workload;
  workload.precisions = {job.precision};
  std::set<int> tensor_sizes;
  for (const LayoutGroup& group : groups) {
    const double share = 1.0 / static_cast<double>(groups.size());
    add_products(workload, model, job, group.pipeline, share);
    tensor_sizes.insert(group.pipeline.tensor_parallel_size);
    for (const Layout& layout : group.layouts) {
      add_collectives(workload, model, job, layout,
                      share / static_cast<double>(group.layouts.size()));
    }
  }
  for (const int size : tensor_sizes) workload.kernels.push_back(kernel_sizes(model, job, size));
  return workload;
}

}  // namespace meshwright::calibrate
