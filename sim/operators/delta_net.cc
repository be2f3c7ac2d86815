// SPDX-License-Identifier: Apache-2.0
// A gated delta net on one tensor rank: input linear, causal convolution, scan, gated norm,
// projection. K, V, H as in sim/block/delta_net.h; dk and dv are a key's and a value's width.
// Context ranks exchange the sequence for heads, so that each scans whole sequences of its share of
// heads (Megatron-LM core/ssm/gated_delta_net).
#include "sim/block/delta_net.h"

#include "sim/operators/builders.h"

namespace meshwright {
namespace {

constexpr double kChunk = 64.0;  // tokens that a scan works on together
constexpr double kState = 4.0;   // bytes of a state's number, or a decay's

// Bytes that a token and value head move through memory in the chunked scan of
// flash-linear-attention (fla/ops/gated_delta_rule/chunk.py), w a stored number: keys are read four
// times, queries once, and the keys' half of the solve is written and read; values pass six times;
// each chunk's state is written and read; the chunk's 64 products a token pass in fp32 twice and in
// 16 bits twice.
double scanned_bytes(double dk, double dv, double w) {
  return w * (7.0 * dk + 6.0 * dv + 2.0 * dk * dv / kChunk) + kChunk * (2.0 * kState + 2.0 * w);
}

// Bytes that transformers' own code keeps of a mixer (modeling_qwen3_next.py,
// torch_chunk_gated_delta_rule), measured on the class: per token and once a sequence.
double torch_saved_bytes(const Model& model, double tokens, double sequences) {
  const DeltaNet& net = *model.linear_attention;
  const double heads = net.linear_num_value_heads;
  const double keys = heads * net.linear_key_head_dim;
  const auto values = static_cast<double>(linear_value_size(model));
  const auto channels = static_cast<double>(delta_net_channels(model));
  const auto state = static_cast<double>(delta_net_state(model));
  const double token = 30.0 * values + 32.0 * keys + 4.0 * channels + 4.0 * state / kChunk +
                       (20.0 * kChunk + 38.0) * heads;
  return tokens * token + sequences * (kChunk * kChunk + 6.0 * channels + 8.0 * heads);
}

}  // namespace

double delta_rule_flops(const Model& model) {
  const DeltaNet& net = *model.linear_attention;
  const auto keys = static_cast<double>(net.linear_num_value_heads) * net.linear_key_head_dim;
  const auto values = static_cast<double>(linear_value_size(model));
  const auto state = static_cast<double>(delta_net_state(model));
  return 4.0 * kChunk * keys + 2.0 * kChunk * values + 6.0 * state + kChunk * (values + keys);
}

void append_delta_net(Operators& ops, const Model& model, const TokenShape& tokens,
                      const Layout& layout, const RankShape& shape) {
  const DeltaNet& net = *model.linear_attention;
  const double ranks = layout.tensor_parallel_size;
  const auto rows = static_cast<double>(shape.rows);
  const double values = static_cast<double>(linear_value_size(model)) / ranks;
  const double channels = static_cast<double>(delta_net_channels(model)) / ranks;
  const double heads = net.linear_num_value_heads / ranks;

  append_linear(ops, linear_operator(delta_net_input(model), shape.rows, shape), Feed::norm, shape);
  ops.back().saved = bytes(rows * static_cast<double>(ops.back().n) * shape.width);
  // The convolution and the activation behind it are one kernel, which keeps its input alone.
  ops.push_back(memory_operator("delta_net.convolution", Module::attention_linear,
                                kernel::kActivation, rows * channels, 2, 3, shape));
  ops.back().saved = bytes(rows * channels * shape.width);

  Operator scan = memory_operator("delta_net.scan", Module::attention_linear, kernel::kDeltaRule, 0,
                                  0, 0, shape);
  scan.forward_flops = flops(rows * delta_rule_flops(model) / ranks);
  // Backward scans forward once more, and then twice as much.
  scan.backward_flops = 3.0 * scan.forward_flops;
  scan.forward_bytes =
      bytes(rows * heads *
            scanned_bytes(net.linear_key_head_dim, net.linear_value_head_dim, shape.width));
  scan.backward_bytes = 3.0 * scan.forward_bytes;
  // The chunk's solved products, a decay and a step width a head; queries, keys and values are the
  // convolution's output.
  scan.saved = bytes(rows * heads * (kChunk * shape.width + 2.0 * kState));
  scan.launches = 6;
  ops.push_back(scan);
  ops.push_back(memory_operator("delta_net.norm", Module::attention_linear, kernel::kRmsNorm,
                                rows * values, 3, 5, shape));
  // The scan's output, and the norm's, which is the projection's input; the gate is the input
  // linear's output.
  ops.back().saved = bytes(rows * values * (shape.width + shape.operand));
  append_linear(ops, linear_operator(delta_net_projection(model), shape.rows, shape), Feed::other,
                shape);
  if (!shape.transformers) return;
  for (Operator& op : ops) {
    if (op.name.starts_with("delta_net.")) op.saved = {};
  }
  ops.back().saved =
      bytes(torch_saved_bytes(model, rows, static_cast<double>(tokens.sequences)) / ranks);
}

}  // namespace meshwright
