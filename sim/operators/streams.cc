// SPDX-License-Identifier: Apache-2.0
// Hyper-connections (DeepSeek-V4): the residual is n streams. In front of a block its input is
// mixed from them; residual_operator() mixes the block's output into them. Engines' kernels reach
// 0.82 to 0.89 of the memory's bandwidth on H100 and H200. On B200 they reach 0.70 to 0.86
// (AISimulate tables, 65,536 tokens and more).
#include "sim/block/layer.h"
#include "sim/operators/builders.h"

namespace meshwright {

// The product that gives the weights reads the streams, and the mixing reads them again. In
// transformers the streams are also kept in fp32 and normalised.
void append_stream_input(Operators& ops, bool mixer, const Model& model, const RankShape& shape) {
  const double streams = model.num_residual_streams;
  if (streams <= 1) return;
  const double elements = static_cast<double>(shape.sequence_rows) * model.hidden_size;
  const LayerPart weights = stream_weights(model, mixer);
  ops.push_back(linear_operator(weights, shape.sequence_rows, shape));
  ops.back().saved =
      bytes(4.0 * static_cast<double>(shape.sequence_rows) * static_cast<double>(weights.outputs));
  if (shape.transformers) ops.back().saved += bytes(elements * streams * 8.0);
  ops.push_back(memory_operator(mixer ? "attention.stream_input" : "mlp.stream_input", Module::norm,
                                kernel::kAdd, elements, streams + 1.0, 2.0 * streams + 1.0, shape));
  // The block's input, which the norm behind it needs.
  if (!casts_in_norm(model, shape)) ops.back().saved = bytes(elements * shape.width);
}

}  // namespace meshwright
