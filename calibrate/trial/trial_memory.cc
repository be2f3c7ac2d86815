// SPDX-License-Identifier: Apache-2.0
// What a trial takes of a rank's memory, and whether that is there.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/trial/ranks/message_format.h"
#include "calibrate/trial/trial.h"
#include "sim/layout/stages.h"
#include "sim/memory/memory.h"
#include "sim/operators/operators.h"
#include "sim/volume/volume.h"

namespace meshwright::calibrate {
namespace {

// Bytes for copies of operands in 16 bits. Weights and what kernels write for products are there
// already: a linear's are its input and its output's gradient. Those of a batch are all that
// attention reads.
Bytes operand_copies(const Operator& op) {
  const auto batch = static_cast<double>(op.batch);
  const double m = static_cast<double>(op.m), n = static_cast<double>(op.n);
  const double k = static_cast<double>(op.k);
  const double weight = op.batch > 1 ? 0.0 : k * n;
  return bytes(2.0 * batch * (m * k + k * n + m * n - weight));
}

// One product's operands or one message's numbers at a time, what goes and what comes.
Bytes copies_of_sixteen_bits(const Model& model, const Job& job, const Layout& layout, int stage) {
  if (!has_sixteen_bits(job.precision)) return {};
  const Stage whole = pipeline_stages(model, layout)[static_cast<std::size_t>(stage)];
  Bytes most;
  for (const Transfer& t : stage_volume(model, job, layout, whole, stage).transfers) {
    const bool converted = has_sixteen_bits(format_of(t.name, message_formats(job)));
    if (converted) most = std::max(most, 2.0 * t.payload);
  }
  std::vector<Operator> operators;
  if (whole.has_head()) operators = head_operators(model, job, layout);
  if (model.mtp_num_layers > 0 && whole.has_mtp()) {
    for (const auto& part :
         {mtp_operators(model, job, layout),
          layer_operators(model, layer_kind(model, model.num_layers - 1), job, layout)}) {
      operators.insert(operators.end(), part.begin(), part.end());
    }
  }
  for (const Chunk& chunk : whole.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      const auto layer =
          layer_operators(model, layer_kind(model, chunk.first_layer + i), job, layout);
      operators.insert(operators.end(), layer.begin(), layer.end());
    }
  }
  for (const Operator& op : operators) {
    if (op.kind == OperatorKind::gemm) most = std::max(most, operand_copies(op));
  }
  return most;
}

// Half of the fp32 weights, and of those that are gathered for a while (ZeRO-3, FSDP).
Bytes weights_of_sixteen_bits(const StageMemory& held, const Job& job) {
  if (!has_sixteen_bits(job.precision)) return {};
  return 0.5 * (held.weights + held.communication_buffers);
}

}  // namespace

Bytes trial_memory(const Model& model, const Job& job, const Layout& layout) {
  Job run = job;
  run.attention_kernel = AttentionKernel::unfused;
  const Job held = with_precision(run, Precision::fp32);
  const std::vector<Stage> stages = pipeline_stages(model, layout);
  Bytes most;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const int index = static_cast<int>(s);
    const StageMemory memory = stage_memory(model, held, layout, stages[s], index);
    most = std::max(most, memory.total() + weights_of_sixteen_bits(memory, run) +
                              copies_of_sixteen_bits(model, run, layout, index));
  }
  return most;
}

// A trial takes at most a tenth more than the model says (tests/ranks/trial_account_test.cc).
std::string lacks_memory(Bytes needed, const Compute& compute, HostRanks& ranks) {
  const Bytes free = bytes(-ranks.host_max(-compute.describe().free_memory.value()));
  constexpr double kMargin = 1.1;
  if (compute.describe().device_kind() == DeviceKind::cpu || needed * kMargin <= free) return "";
  return fmt::format("needs {:.1f} GiB as the trial runs it, {:.1f} GiB are free",
                     in_gibibytes(needed), in_gibibytes(free));
}

}  // namespace meshwright::calibrate
