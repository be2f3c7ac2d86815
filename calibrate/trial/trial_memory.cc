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

// Bytes for copies of both operands of a GEMM or of one of its gradients, whichever needs most: the
// two largest of m x k, k x n and m x n. The operands of a batch are first copied into one array.
Bytes operand_copies(const Operator& op) {
  const auto batch = static_cast<double>(op.batch);
  const double m = static_cast<double>(op.m), n = static_cast<double>(op.n);
  const double k = static_cast<double>(op.k);
  const double sides[] = {m * k, k * n, m * n};
  const double all = sides[0] + sides[1] + sides[2];
  const double together = op.batch > 1 ? 4.0 * *std::max_element(sides, sides + 3) : 0.0;
  return bytes(batch * (2.0 * (all - *std::min_element(sides, sides + 3)) + together));
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

}  // namespace

Bytes trial_memory(const Model& model, const Job& job, const Layout& layout) {
  Job run = job;
  run.attention_kernel = AttentionKernel::unfused;
  const Job held = with_precision(run, Precision::fp32);
  const std::vector<Stage> stages = pipeline_stages(model, layout);
  Bytes most;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const int index = static_cast<int>(s);
    most = std::max(most, stage_memory(model, held, layout, stages[s], index).total() +
                              copies_of_sixteen_bits(model, run, layout, index));
  }
  return most;
}

// A trial takes at most a tenth more than the model says (tests/ranks/trial_account_test.cc).
std::string lacks_memory(Bytes needed, const Compute& compute, HostRanks& ranks) {
  const Bytes free = bytes(-ranks.host_max(-compute.describe().free_memory.value()));
  constexpr double kMargin = 1.1;
  if (compute.describe().device_kind() == DeviceKind::cpu || needed * kMargin <= free) return "";
  return fmt::format("needs {:.1f} GiB as the trial runs it (held in fp32), {:.1f} GiB are free",
                     in_gibibytes(needed), in_gibibytes(free));
}

}  // namespace meshwright::calibrate
