// SPDX-License-Identifier: Apache-2.0
#include "sim/block/delta_net.h"

namespace meshwright {
namespace {

constexpr LinearNames kDeltaInputLinear{"delta_net.input", "delta_net.quantize_input",
                                        "delta_net.dequantize_input"};
constexpr LinearNames kDeltaProjectionLinear{
    "delta_net.projection", "delta_net.quantize_projection", "delta_net.dequantize_projection"};

}  // namespace

LayerPart delta_net_input(const Model& model) {
  const DeltaNet& net = *model.linear_attention;
  const std::int64_t heads = net.linear_num_value_heads;
  return {.names = &kDeltaInputLinear,
          .module = Module::attention_linear,
          .quantized = kQuantizedAttentionInput,
          .split = Split::columns,
          .inputs = model.hidden_size,
          .outputs = 2 * linear_key_size(model) + 2 * linear_value_size(model) + 2 * heads,
          .cut_numbers = net.linear_conv_kernel_dim * delta_net_channels(model) + 2 * heads,
          .whole_numbers = net.linear_value_head_dim,
          .exchange = Exchange::input,
          .transfers = &transfer_names::kAttention};
}

LayerPart delta_net_projection(const Model& model) {
  return {.names = &kDeltaProjectionLinear,
          .module = Module::attention_linear,
          .quantized = kQuantizedAttentionOutput,
          .split = Split::rows,
          .inputs = linear_value_size(model),
          .outputs = model.hidden_size,
          .exchange = Exchange::output,
          .transfers = &transfer_names::kAttention};
}

LayerParts delta_net_parts(const Model& model) {
  return {delta_net_input(model), delta_net_projection(model)};
}

std::int64_t delta_net_channels(const Model& model) {
  return 2 * linear_key_size(model) + linear_value_size(model);
}

std::int64_t delta_net_state(const Model& model) {
  const DeltaNet& net = *model.linear_attention;
  return linear_value_size(model) * net.linear_key_head_dim;
}

}  // namespace meshwright
