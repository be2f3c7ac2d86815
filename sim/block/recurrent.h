// SPDX-License-Identifier: Apache-2.0
// Token mixers that keep a state of fixed size for a sequence, whatever its length: what each kind
// is. All run linears of their input, a convolution, a scan, a norm and a projection; a kind may
// lack some. The scan's work is in sim/operators/recurrent.h.
#pragma once

#include <optional>

#include "sim/block/part.h"

namespace meshwright {

inline constexpr LinearNames kRecurrentInput{"recurrent.input", "recurrent.quantize_input",
                                             "recurrent.dequantize_input"};
inline constexpr LinearNames kRecurrentProjection{
    "recurrent.projection", "recurrent.quantize_projection", "recurrent.dequantize_projection"};

struct RecurrentMixer {
  std::string_view plural;    // "gated delta nets"
  LayerParts inputs;          // linears in front of the scan; the first takes the hidden state
  LayerPart projection;       // columns of the scan's output -> h
  std::int64_t channels = 0;  // that the convolution, or the activation in its place, runs over
  int positions = 0;          // of the convolution; 0: none
  bool norm = true;           // over the scan's output, with its gate
  // Numbers of a norm's weight that every tensor rank holds and whose gradient only its heads give.
  std::int64_t head_norm = 0;
  // Numbers of one sequence's state beside the convolution's, and the bytes of each.
  std::int64_t state = 0;
  double state_bytes = 4.0;
  // Heads that tensor and context ranks share, by the name of their number; groups of heads that
  // tensor ranks share, 0: none.
  std::string_view heads_name;
  int heads = 0, groups = 0;
  std::string_view exchanged;  // what context ranks exchange, as a formula

  // Columns that the input's linears put out from the hidden state.
  [[nodiscard]] std::int64_t columns() const { return inputs.front().outputs; }
  [[nodiscard]] std::int64_t values() const { return projection.inputs; }
  [[nodiscard]] LayerParts parts() const;
};

// None: the model has no such mixer.
std::optional<RecurrentMixer> recurrent_mixer(const Model& model);

RecurrentMixer delta_net_mixer(const Model& model);
RecurrentMixer state_space_mixer(const Model& model);
RecurrentMixer selective_scan_mixer(const Model& model);
RecurrentMixer kimi_delta_mixer(const Model& model);
RecurrentMixer short_convolution_mixer(const Model& model);
RecurrentMixer lightning_mixer(const Model& model);

// The column-parallel linear that takes the hidden state, and the row-parallel one at the end.
LayerPart recurrent_input(const Model& model, std::int64_t outputs);
LayerPart recurrent_projection(const Model& model, std::int64_t inputs);

}  // namespace meshwright
