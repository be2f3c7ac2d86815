// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/workspace.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cost/activation_memory.h"
#include "sim/model/operator_builders.h"
#include "sim/model/operators.h"

namespace meshwright {
namespace {

bool in_mlp(const Operator& op) {
  return op.module == Module::mlp || op.module == Module::mlp_activation ||
         op.module == Module::router || op.name == "mlp_norm";
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

// Sizes of one layer's tensors, and what it keeps or runs again, MLP and the rest apart.
struct LayerSizes {
  Bytes stream;        // the gradient beside the layer: the residual stream's
  Bytes gathered;      // the same with the whole sequence, as column-parallel linears see it
  Bytes hidden;        // what enters fc2
  Bytes hidden_input;  // what leaves fc1: gate and up
  Bytes dispatched;    // tokens of experts
  Bytes heads;         // query, key, value and output of attention
  Bytes scores;        // unfused attention: one copy
  Bytes kept_mlp, kept_other;
  Bytes again_mlp, again_other;
};

void add_mlp_sizes(LayerSizes& sizes, const Operator& op, double width) {
  const auto elements = [&](std::int64_t columns) {
    return bytes(static_cast<double>(op.batch) * static_cast<double>(op.m) *
                 static_cast<double>(columns) * width);
  };
  if (op.name == "experts.permute") sizes.dispatched = op.saved;
  if (op.module != Module::mlp || op.kind != OperatorKind::gemm) return;
  if (ends_with(op.name, "fc1")) sizes.hidden_input = std::max(sizes.hidden_input, elements(op.n));
  if (ends_with(op.name, "fc2")) sizes.hidden = std::max(sizes.hidden, elements(op.k));
}

LayerSizes layer_sizes(const Model& model, const StageLayer& layer, const Job& job,
                       const Layout& layout) {
  LayerSizes sizes;
  const RankShape shape = rank_shape(job, layout);
  sizes.stream = layer_input_bytes(model, job, layout);
  sizes.gathered = bytes(static_cast<double>(shape.rows) * model.hidden_size * shape.width);
  for (const Operator& op : layer_operators(model, layer.kind, job, layout)) {
    const bool again = is_recomputed(op, layout, layer.fully_recomputed);
    const bool mlp = in_mlp(op);
    if (again) {
      (mlp ? sizes.again_mlp : sizes.again_other) += op.saved;
    } else {
      (mlp ? sizes.kept_mlp : sizes.kept_other) += op.saved;
    }
    add_mlp_sizes(sizes, op, shape.width);
    if (op.name == "attention.core") sizes.heads = op.forward_bytes;
    if (op.name == "attention.split_heads") sizes.heads = op.forward_bytes * 0.5;
    if (op.name == "attention.scores") {
      sizes.scores = bytes(static_cast<double>(op.batch) * static_cast<double>(op.m) *
                           static_cast<double>(op.n) * shape.width);
    }
  }
  return sizes;
}

// fc2's input gradient; the activation's two or three tensors less the one that fc2 has freed;
// fc1's input gradient. Experts: their tokens before and after the all-to-all.
Bytes mlp_gradients(const LayerSizes& s) {
  const Bytes dense = std::max(s.hidden_input, s.gathered - s.hidden);
  const Bytes experts = s.dispatched + std::max(s.dispatched, s.hidden);
  return s.stream + (s.dispatched > Bytes{} ? std::max(dense, experts) : dense);
}

// Attention's output and query, key, value; unfused also the gradients of the probabilities before
// and after softmax.
Bytes attention_gradients(const LayerSizes& s) { return s.stream + s.heads + 2.0 * s.scores; }

Workspace larger(const Workspace& a, const Workspace& b) { return b.total() > a.total() ? b : a; }

// How many layers are run again together: a unit of the uniform method, within the chunk.
int layers_run_again(const Layout& layout, const StageLayer& layer, std::size_t layers) {
  if (!layer.fully_recomputed || layout.recompute_method != RecomputeMethod::uniform) return 1;
  return std::clamp(layout.recompute_num_layers, 1, static_cast<int>(layers));
}

// The MLP first; when attention runs, the MLP has freed what it kept.
Workspace layer_backward(const LayerSizes& sizes, bool fully_recomputed, int run_again) {
  // Full recompute has run the whole layer, or unit of layers, before its backward begins.
  const Bytes all_again = (sizes.again_mlp + sizes.again_other) * run_again;
  const Bytes before_mlp = fully_recomputed ? all_again : sizes.again_mlp;
  const Bytes before_attention = fully_recomputed ? all_again - sizes.again_mlp : sizes.again_other;
  return larger({{}, before_mlp, mlp_gradients(sizes), {}},
                {Bytes{} - sizes.kept_mlp, before_attention, attention_gradients(sizes), {}});
}

// The loss's second copy of the logits; then the output linear: the logits' gradient in place of
// what the loss kept, the weight's gradient, the input's.
Workspace head_backward(const Model& model, const Job& job, const Layout& layout) {
  const LogitsBytes logits = logits_bytes(model, job, layout);
  const RankShape shape = rank_shape(job, layout);
  const bool sharded = layout.sequence_parallel && layout.tensor_parallel_size > 1;
  const Bytes gathered = bytes(static_cast<double>(shape.rows) * model.hidden_size * shape.width);
  const Workspace loss{{}, {}, {}, logits.beside};
  const Workspace linear{{},
                         {},
                         logits.weight_gradient + gathered +
                             (sharded ? layer_input_bytes(model, job, layout) : Bytes{}),
                         logits.gradient - logits.kept};
  return larger(loss, linear);
}

// Layers from the last one on; of each kind the first that is met, before others are freed.
Workspace layers_backward(const Model& model, const Job& job, const Layout& layout,
                          const std::vector<StageLayer>& layers, Workspace freed) {
  Workspace largest = freed;
  std::vector<StageLayer> seen;
  std::vector<Bytes> kept;  // by each of `seen`
  for (std::size_t i = layers.size(); i-- > 0;) {
    const auto known = std::find(seen.begin(), seen.end(), layers[i]) - seen.begin();
    if (known == std::ssize(seen)) {
      seen.push_back(layers[i]);
      kept.push_back(kept_bytes(layers[i], model, job, layout));
      Workspace now =
          layer_backward(layer_sizes(model, layers[i], job, layout), layers[i].fully_recomputed,
                         layers_run_again(layout, layers[i], layers.size()));
      now.activations += freed.activations;
      now.logits += freed.logits;
      largest = larger(largest, now);
    }
    freed.activations -= kept[static_cast<std::size_t>(known)];
  }
  return largest;
}

// The layer that comes back from the host while another one is worked on.
Bytes reloaded(const Model& model, const Job& job, const Layout& layout,
               const std::vector<StageLayer>& layers) {
  Bytes largest;
  for (const StageLayer& layer : layers) {
    if (!layer.offloaded) break;
    largest = std::max(
        largest, layer_activation_bytes(model, layer.kind, job, layout, layer.fully_recomputed));
  }
  return largest;
}

}  // namespace

Workspace forward_workspace(const Model& model, const Job& job, const Layout& layout,
                            const Stage& stage, std::size_t chunk) {
  const Workspace output{{}, {}, layer_input_bytes(model, job, layout), {}};
  if (!stage.chunks[chunk].head) return output;
  return larger(output, {{}, {}, {}, logits_bytes(model, job, layout).beside});
}

Workspace backward_workspace(const Model& model, const Job& job, const Layout& layout,
                             const Stage& stage, std::size_t chunk) {
  const auto layers = chunk_layers(model, layout, stage, chunk);
  Workspace freed;
  Workspace largest;
  if (stage.chunks[chunk].head) {
    largest = head_backward(model, job, layout);
    freed.activations -= head_activation_bytes(model, job, layout);
    freed.logits -= logits_bytes(model, job, layout).kept * (1 + model.mtp_num_layers);
  }
  largest = larger(largest, layers_backward(model, job, layout, layers, freed));
  if (stage.chunks[chunk].embedding) {
    // The table's gradient, when nothing else of the micro-batch is left.
    const ChunkActivations kept = chunk_activations(model, job, layout, stage, chunk);
    const Workspace table{Bytes{} - kept.whole,
                          {},
                          logits_bytes(model, job, layout).weight_gradient,
                          Bytes{} - kept.logits};
    largest = larger(largest, table);
  }
  largest.activations += reloaded(model, job, layout, layers);
  return largest;
}

Workspace weight_workspace(const Model& model, const Job& job, const Layout& layout,
                           const Stage& stage, std::size_t chunk) {
  if (!stage.chunks[chunk].head) return {};
  return {{}, {}, logits_bytes(model, job, layout).weight_gradient, {}};
}

Bytes weight_gradient_placeholders(const Model& model, const Job& job, const Layout& layout,
                                   const Stage& stage) {
  if (!has_master_weights(job.precision)) return {};
  std::vector<LayerKind> kinds;
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
  double elements = 0.0;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      const LayerKind kind = layer_kind(model, chunk.first_layer + i);
      if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) continue;
      kinds.push_back(kind);
      for (const Operator& op : layer_operators(model, kind, job, layout)) {
        const std::pair shape{op.k, op.n};
        if (!op.has_weight || op.module == Module::router) continue;
        if (std::find(shapes.begin(), shapes.end(), shape) != shapes.end()) continue;
        shapes.push_back(shape);
        elements += static_cast<double>(op.k) * static_cast<double>(op.n);
      }
    }
  }
  return bytes(elements * weight_bytes(job.precision));
}

}  // namespace meshwright
