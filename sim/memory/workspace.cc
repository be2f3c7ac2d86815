// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/workspace.h"

#include <algorithm>
#include <vector>

namespace meshwright {
namespace {

// fc2's input gradient; the activation's two or three tensors less the one that fc2 has freed;
// fc1's input gradient. Experts: their tokens before and after the all-to-all.
Bytes mlp_gradients(const UnitBytes& units, const LayerSizes& s) {
  const Bytes dense = std::max(s.hidden_input, units.gathered - s.hidden);
  const Bytes experts = s.dispatched + std::max(s.dispatched, s.hidden);
  return units.input + (s.dispatched > Bytes{} ? std::max(dense, experts) : dense);
}

// Attention's output and query, key, value, and the scores' gradients.
Bytes attention_gradients(const UnitBytes& units, const LayerSizes& s) {
  return units.input + s.heads + s.scores;
}

Workspace larger(const Workspace& a, const Workspace& b) { return b.total() > a.total() ? b : a; }

// Number of layers that are recomputed together: a unit of the uniform method, within the chunk.
int layers_run_again(const Layout& layout, const StageLayer& layer, int layers) {
  if (!layer.fully_recomputed || layout.recompute_method != RecomputeMethod::uniform) return 1;
  return std::clamp(layout.recompute_num_layers, 1, layers);
}

// The MLP first; when attention runs, the MLP has freed what it kept.
Workspace layer_backward(const UnitBytes& units, const StageLayer& layer, int run_again) {
  const LayerBytes& one = units.layers[kind_index(layer.kind)];
  const LayerSizes& sizes = layer.fully_recomputed ? one.recomputed : one.sizes;
  // Full recompute has run the whole layer, or unit of layers, before its backward begins.
  const Bytes all_again = (sizes.again_mlp + sizes.again_other) * run_again;
  const Bytes before_mlp = layer.fully_recomputed ? all_again : sizes.again_mlp;
  const Bytes before_attention =
      layer.fully_recomputed ? all_again - sizes.again_mlp : sizes.again_other;
  return larger(
      {{}, before_mlp, mlp_gradients(units, sizes), {}},
      {Bytes{} - sizes.kept_mlp, before_attention, attention_gradients(units, sizes), {}});
}

// The loss's second copy of the logits; then the output linear: the logits' gradient in place of
// what the loss kept, the weight's gradient, the input's.
Workspace head_backward(const UnitBytes& units, const Layout& layout) {
  const LogitsBytes& logits = units.logits;
  const bool sharded = layout.sequence_parallel && layout.tensor_parallel_size > 1;
  const Workspace loss{{}, {}, {}, logits.beside};
  const Workspace linear{
      {},
      {},
      logits.weight_gradient + units.gathered + (sharded ? units.input : Bytes{}),
      logits.gradient - logits.kept};
  return larger(loss, linear);
}

// Bytes that are back from the host while the first or last layer of this run computes. They are
// its own and, if whole layers are offloaded, all of the layer below (Transformer Engine's
// AsyncDoubleBufferGroupOffloadHandler).
Bytes back_from_host(const UnitBytes& units, const std::vector<LayerRun>& layers, std::size_t run,
                     bool last) {
  const Bytes own = offloaded_bytes(layers[run].layer, units);
  const bool same_below = !last && layers[run].count > 1;
  if (!same_below && run == 0) return own;
  const StageLayer& below = layers[same_below ? run : run - 1].layer;
  return below.offloaded ? own + offloaded_bytes(below, units) : own;
}

// Layers from the last one on; of each kind the first that is met, before others are freed, and of
// neighbours that are alike the last one where more comes back for it.
Workspace layers_backward(const UnitBytes& units, const Layout& layout,
                          const std::vector<LayerRun>& layers, const Chunk& chunk,
                          Workspace freed) {
  Workspace largest = freed;
  for (std::size_t r = layers.size(); r-- > 0;) {
    const LayerRun& run = layers[r];
    const bool met = std::any_of(layers.begin() + static_cast<std::ptrdiff_t>(r) + 1, layers.end(),
                                 [&](const LayerRun& other) { return other.layer == run.layer; });
    const Workspace one =
        layer_backward(units, run.layer, layers_run_again(layout, run.layer, chunk.num_layers));
    const auto consider = [&](Bytes activations) {
      Workspace now = one;
      now.activations += freed.activations + activations;
      now.logits += freed.logits;
      largest = larger(largest, now);
    };
    const Bytes first = back_from_host(units, layers, r, false);
    const Bytes last = back_from_host(units, layers, r, true);
    if (!met) consider(first);
    const Bytes above = (run.count - 1) * kept_bytes(run.layer, units);
    if (last > first) consider(last - above);
    freed.activations -= above + kept_bytes(run.layer, units);
  }
  return largest;
}

}  // namespace

Workspace forward_workspace(const UnitBytes& units, const Chunk& chunk, PeakScope scope) {
  Workspace output{{}, {}, units.input, {}};
  if (!chunk.head) return output;
  if (scope == PeakScope::layers) {
    output.logits -= units.logits.kept * units.head_passes;
    return output;
  }
  return larger(output, {{}, {}, {}, units.logits.beside});
}

Workspace backward_workspace(const UnitBytes& units, const Layout& layout,
                             const std::vector<LayerRun>& layers, const Chunk& chunk,
                             PeakScope scope) {
  Workspace freed;
  if (chunk.head) {
    freed.activations -= units.head;
    freed.logits -= units.logits.kept * units.head_passes;
  }
  Workspace largest = freed;
  if (chunk.head && scope == PeakScope::all) largest = head_backward(units, layout);
  if (chunk.mtp && units.mtp > Bytes{}) {
    Workspace now = layer_backward(units, units.mtp_layer, 1);
    now.activations += freed.activations;
    now.logits += freed.logits;
    largest = larger(largest, now);
    freed.activations -= units.mtp;
  }
  largest = larger(largest, layers_backward(units, layout, layers, chunk, freed));
  if (chunk.embedding) {
    // The table's gradient, when nothing else of the micro-batch is left.
    const HeldBytes kept = chunk_activations(units, layers, chunk);
    const Workspace table{
        Bytes{} - kept.whole, {}, units.logits.weight_gradient, Bytes{} - kept.logits};
    largest = larger(largest, table);
  }
  return largest;
}

Workspace weight_workspace(const UnitBytes& units, const Chunk& chunk) {
  if (!chunk.head) return {};
  return {{}, {}, units.logits.weight_gradient, {}};
}

}  // namespace meshwright
