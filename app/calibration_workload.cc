// SPDX-License-Identifier: Apache-2.0
#include "app/calibration_workload.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/model/operators.h"
#include "sim/model/parameters.h"

namespace meshwright::app {
namespace {

constexpr std::array kMicroBatches{1, 2, 4};

calibrate::GemmOperand second_operand(const Operator& op) {
  if (op.has_weight) return calibrate::GemmOperand::weight;
  return op.name == "attention.scores" ? calibrate::GemmOperand::transposed_activation
                                       : calibrate::GemmOperand::activation;
}

void add_gemms(calibrate::Workload& workload, const std::vector<Operator>& operators) {
  for (const Operator& op : operators) {
    if (op.kind != OperatorKind::gemm) continue;
    const auto variants =
        calibrate::training_variants({op.batch, op.m, op.n, op.k}, second_operand(op));
    std::copy(variants.begin(), variants.end(), std::back_inserter(workload.gemms));
  }
}

std::vector<LayerKind> kinds_of(const Model& model) {
  std::vector<LayerKind> kinds;
  for (int layer = 0; layer < model.num_layers; ++layer) {
    const LayerKind kind = layer_kind(model, layer);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

bool splits(const Model& model, int tensor_size) {
  return model.num_attention_heads % tensor_size == 0 && model.ffn_hidden_size % tensor_size == 0 &&
         model.hidden_size % tensor_size == 0;
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

}  // namespace

calibrate::Workload calibration_workload(const Model& model, const Job& job, int ranks) {
  calibrate::Workload workload;
  Job measured = job;
  measured.attention_kernel = AttentionKernel::unfused;  // what a trial runs
  for (int tensor_size = 1; tensor_size <= ranks; tensor_size *= 2) {
    if (!splits(model, tensor_size)) break;
    workload.kernels.push_back(kernel_sizes(model, job, tensor_size));
    for (const int micro_batch_size : kMicroBatches) {
      if (micro_batch_size > job.global_batch_size) continue;
      Layout layout;
      layout.tensor_parallel_size = tensor_size;
      layout.micro_batch_size = micro_batch_size;
      for (const LayerKind kind : kinds_of(model)) {
        add_gemms(workload, layer_operators(model, kind, measured, layout));
      }
      add_gemms(workload, head_operators(model, measured, layout));
    }
  }
  return workload;
}

}  // namespace meshwright::app
