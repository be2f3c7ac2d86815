// SPDX-License-Identifier: Apache-2.0
// A recurrent mixer on one tensor rank: linears of its input, convolution, scan, gated norm,
// projection. Context ranks exchange the sequence for heads, so that each scans whole sequences of
// its share of heads (Megatron-LM core/ssm).
#include "sim/operators/recurrent.h"

namespace meshwright {

ScanWork scan_work(const Model& model, double width, double positions) {
  if (model.linear_attention) return delta_net_scan(*model.linear_attention, width);
  if (model.state_space) return state_space_scan(model, width, positions);
  if (model.selective_scan) return selective_scan_work(*model.selective_scan, width);
  if (model.kimi_delta) return kimi_delta_scan(*model.kimi_delta, width);
  if (model.short_convolution) return short_convolution_scan(model, width);
  return lightning_scan(*model.lightning_attention, width, positions);
}

double scan_flops(const Model& model) { return scan_work(model, 2.0, 1.0).flops; }

void append_recurrent(Operators& ops, const Model& model, const TokenShape& tokens,
                      const Layout& layout, const RankShape& shape) {
  const RecurrentMixer mixer = *recurrent_mixer(model);
  const ScanWork work = scan_work(model, shape.width, static_cast<double>(tokens.queries));
  const double ranks = layout.tensor_parallel_size;
  const auto rows = static_cast<double>(shape.rows);
  const double values = static_cast<double>(mixer.values()) / ranks;
  const double channels = static_cast<double>(mixer.channels) / ranks;

  const auto first = static_cast<std::ptrdiff_t>(ops.size());
  for (const LayerPart& part : mixer.inputs) {
    const bool of_hidden = part.inputs == model.hidden_size;
    const std::int64_t seen = part.split == Split::whole ? shape.sequence_rows : shape.rows;
    append_linear(ops, linear_operator(part, seen, shape), of_hidden ? Feed::norm : Feed::other,
                  shape);
    ops.back().saved =
        bytes(static_cast<double>(seen) * static_cast<double>(ops.back().n) * shape.width);
  }
  // The convolution and the activation behind it are one kernel, which keeps its input alone.
  ops.push_back(memory_operator("recurrent.convolution", Module::attention_linear,
                                kernel::kActivation, rows * channels, 2, 3, shape));
  if (work.keeps_convolution) ops.back().saved = bytes(rows * channels * shape.width);

  Operator scan =
      memory_operator("recurrent.scan", Module::attention_linear, work.kernel, 0, 0, 0, shape);
  scan.forward_flops = flops(rows * work.flops / ranks);
  // Backward scans forward once more, and then twice as much.
  scan.backward_flops = 3.0 * scan.forward_flops;
  scan.forward_bytes = bytes(rows * work.bytes / ranks);
  scan.backward_bytes = 3.0 * scan.forward_bytes;
  scan.saved = bytes(rows * work.saved / ranks);
  scan.launches = work.launches;
  ops.push_back(scan);
  if (mixer.norm) {
    ops.push_back(memory_operator("recurrent.norm", Module::attention_linear, kernel::kRmsNorm,
                                  rows * values, 3, 5, shape));
  }
  // The scan's output, and what is the projection's input; the gate is the input linear's output.
  const double kept = (mixer.norm ? shape.width : 0.0) + shape.operand;
  ops.back().saved += bytes(rows * values * kept);
  append_linear(ops, linear_operator(mixer.projection, shape.rows, shape), Feed::other, shape);
  if (!shape.transformers) return;
  for (auto op = ops.begin() + first; op != ops.end(); ++op) op->saved = {};
  const double sequences = static_cast<double>(tokens.sequences);
  ops.back().saved = bytes((rows * work.torch_token + sequences * work.torch_sequence) / ranks);
}

}  // namespace meshwright
