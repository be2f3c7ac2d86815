// SPDX-License-Identifier: Apache-2.0
// State space of Mamba-1 (arXiv 2312.00752). I channels, N the state's size, r the rank:
//   h -> 2I      gate and values; the values pass a convolution with a bias
//   I -> r + 2N  vector of the step widths, B (enters the state) and C (reads it)
//   r -> I       step widths
#include "sim/block/recurrent.h"

namespace meshwright {
namespace {

constexpr LinearNames kSelection{"recurrent.selection", "recurrent.quantize_selection",
                                 "recurrent.dequantize_selection"};
constexpr LinearNames kStepWidths{"recurrent.step_widths", "recurrent.quantize_step_widths",
                                  "recurrent.dequantize_step_widths"};

}  // namespace

RecurrentMixer selective_scan_mixer(const Model& model) {
  const SelectiveScan& scan = *model.selective_scan;
  const std::int64_t channels = scan.selective_channels, state = scan.selective_state_dim;
  const std::int64_t rank = scan.selective_dt_rank, selected = rank + 2 * state;
  RecurrentMixer mixer{.plural = "Mamba layers",
                       .inputs = {recurrent_input(model, 2 * channels)},
                       .projection = recurrent_projection(model, channels),
                       .channels = channels,
                       .positions = scan.selective_conv_kernel_dim,
                       .norm = false,
                       .state = channels * state,
                       .heads_name = "selective_channels",
                       .heads = scan.selective_channels,
                       .exchanged = "b*s*(4*i+2*n)*w/(c*t)"};
  // A decay of each number of the state, and a skip a channel.
  mixer.inputs.front().cut_numbers = (mixer.positions + 1) * channels + channels * state + channels;
  mixer.inputs.push_back({.names = &kSelection,
                          .module = Module::attention_linear,
                          .quantized = kQuantizedAttentionInput,
                          .split = Split::rows,
                          .inputs = channels,
                          .outputs = selected,
                          .whole_numbers = scan.selective_norms ? selected : 0});
  mixer.inputs.push_back({.names = &kStepWidths,
                          .module = Module::attention_linear,
                          .quantized = kQuantizedAttentionInput,
                          .split = Split::columns,
                          .inputs = rank,
                          .outputs = channels,
                          .cut_numbers = channels});
  return mixer;
}

}  // namespace meshwright
