// SPDX-License-Identifier: Apache-2.0
#include "calibrate/workload.h"

#include <algorithm>
#include <set>

#include "calibrate/library_points.h"
#include "calibrate/trial/trial.h"
#include "sim/block/parameters.h"
#include "sim/operators/operators.h"
#include "sim/step/observation.h"
#include "sim/volume/volume.h"

namespace meshwright::calibrate {
namespace {

GemmOperand second_operand(const Operator& op) {
  if (op.has_weight) return GemmOperand::weight;
  return op.transposed_second ? GemmOperand::transposed_activation : GemmOperand::activation;
}

void add_operators(Workload& workload, const std::vector<Operator>& operators, double calls) {
  for (const Operator& op : operators) {
    if (op.kind == OperatorKind::memory_bound) workload.kernel_names.emplace(op.kernel);
    if (op.kind != OperatorKind::gemm) continue;
    if (op.of_expert && op.batch > 1) {
      workload.grouped_gemms.push_back(
          {.shape = {op.batch, op.m, op.n, op.k}, .fresh = {.a = true}});
    }
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

KernelSizes kernel_sizes(const Model& model, const Job& job, int tensor_size,
                         int micro_batch_size) {
  KernelSizes sizes;
  sizes.positions = job.seq_length;
  sizes.batch = micro_batch_size;
  sizes.hidden = model.hidden_size;
  sizes.ffn = std::max(1, model.ffn_hidden_size / tensor_size);
  sizes.heads = std::max(1, model.num_attention_heads / tensor_size);
  if (sizes.hidden % sizes.heads != 0) sizes.heads = 1;
  sizes.gated = is_gated(model.activation);
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
    add_operators(workload, layer_operators(model, kind, job, layout), calls * layers);
  }
  add_operators(workload, head_operators(model, job, layout), calls);
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

// One step of a check takes at most about two seconds of a slow core.
constexpr Flops kLargestStep = flops(2e11);
constexpr std::size_t kMostSteps = 3;
constexpr int kMostLayers = 4;

Flops step_flops(const Model& model, const Job& job, const Layout& layout) {
  Flops sum;
  const auto add = [&](const std::vector<Operator>& operators, int times) {
    for (const Operator& op : operators) {
      if (op.kind == OperatorKind::gemm) sum += gemm_flops({op.batch, op.m, op.n, op.k}) * times;
    }
  };
  for (const auto& [kind, layers] : layers_of_kind(model)) {
    add(layer_operators(model, kind, job, layout), layers);
  }
  add(head_operators(model, job, layout), 1);
  return sum * 3.0;  // two products backward for each forward
}

std::vector<StepDemand> steps_of(const Model& model, const Job& job,
                                 const std::set<int>& micro_batch_sizes) {
  std::vector<StepDemand> steps;
  for (const int size : micro_batch_sizes) {
    if (const auto step = step_alone(model, job, size)) steps.push_back(*step);
  }
  if (steps.size() > kMostSteps) {
    steps = {steps.front(), steps[steps.size() / 2], steps.back()};
  }
  return steps;
}

}  // namespace

Job as_trials_run_it(Job job) {
  job.attention_kernel = AttentionKernel::unfused;
  return job;
}

Model shortened(Model model) {
  const std::size_t kinds = layers_of_kind(model).size();
  for (int layers = std::min(kMostLayers, model.num_layers); layers < model.num_layers; ++layers) {
    Model shorter = model;
    shorter.num_layers = layers;
    if (layers_of_kind(shorter).size() == kinds) return shorter;
  }
  return model;
}

Job as_calibrated(const Job& job, DeviceKind kind) {
  return kind == DeviceKind::cpu ? as_trials_run_it(job) : job;
}

std::optional<StepDemand> step_alone(const Model& model, const Job& job, int micro_batch_size) {
  StepDemand step{shortened(model), with_precision(job, Precision::fp32), Layout{}};
  step.layout.micro_batch_size = step.job.global_batch_size = micro_batch_size;
  if (step_flops(step.model, step.job, step.layout) > kLargestStep) return std::nullopt;
  if (!trial_unsupported(step.model, step.job, step.layout).empty()) return std::nullopt;
  return step;
}

Workload workload_of(const Model& model, const Job& job, const std::vector<LayoutGroup>& groups) {
  Workload workload;
  workload.precisions = {job.precision};
  std::set<std::pair<int, int>> sizes;  // tensor-parallel ranks, sequences of a micro-batch
  for (const LayoutGroup& group : groups) {
    const double share = 1.0 / static_cast<double>(groups.size());
    add_products(workload, model, job, group.pipeline, share);
    sizes.emplace(group.pipeline.tensor_parallel_size, group.pipeline.micro_batch_size);
    for (const Layout& layout : group.layouts) {
      add_collectives(workload, model, job, layout,
                      share / static_cast<double>(group.layouts.size()));
    }
  }
  std::set<int> micro_batch_sizes;
  for (const auto& [ranks, sequences] : sizes) {
    workload.kernels.push_back(kernel_sizes(model, job, ranks, sequences));
    add_attention_demand(workload, model, job, ranks, sequences);
    micro_batch_sizes.insert(sequences);
  }
  workload.steps = steps_of(model, job, micro_batch_sizes);
  for (const std::string_view kernel : {kernel::kEmbedding, kernel::kAdam}) {
    workload.kernel_names.emplace(kernel);
  }
  return workload;
}

}  // namespace meshwright::calibrate
