// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/activation_memory.h"

#include <algorithm>

#include "sim/memory/unit_bytes.h"
#include "sim/operators/builders.h"
#include "sim/operators/operators.h"

namespace meshwright {
namespace {

Bytes saved_bytes(const std::vector<Operator>& operators) {
  Bytes sum;
  for (const Operator& op : operators) sum += op.saved;
  return sum;
}

bool is_row_parallel(const Operator& op) { return op.split == Split::rows && !op.of_expert; }

// A linear's input and its output's gradient, as the product that waits takes them: in fp8 and fp4
// where it works in these. Under sequence parallelism a column-parallel linear's input is held as a
// rank's piece of the sequence and gathered by the product; the gradient of a row-parallel one's
// output was gathered for the input gradient and is held whole (sail-sg's zero-bubble Megatron-LM,
// core/tensor_parallel/layers.py, pre_process).
Bytes weight_gradient_inputs(const Operator& op, const Numerics& numerics, const RankShape& shape) {
  const auto rows = static_cast<double>(op.batch) * static_cast<double>(op.m);
  const double piece = op.m == shape.rows ? static_cast<double>(shape.sequence_rows) /
                                                static_cast<double>(shape.rows)
                                          : 1.0;
  const double input = static_cast<double>(op.k) * (is_row_parallel(op) ? 1.0 : piece);
  const auto output = static_cast<double>(op.n);
  const bool narrow = is_narrow(compute_precision(op, numerics.precision));
  return bytes(rows * (input + output) * (narrow ? shape.operand : shape.width));
}

// Bytes an entry of the logits that torch's cross-entropy has at its peak beside what it keeps.
// Eager: the gradients by the log-softmax and by the logits, both in fp32 (PyTorch 2.15, by its
// memory tracker: 12 bytes an entry with the log-softmax); transformers and a loss in pieces still
// hold the logits in their own format. Over tensor ranks (loss parallel): the
// one-hot gradient, its sum with the softmax, and the scaled sum, all in fp32
// (torch/distributed/tensor/parallel/loss.py, _nll_loss_and_log_softmax_backward). Compiled with
// the loss: the logits' gradient alone.
double torch_loss_bytes(const Numerics& numerics, const Layout& layout) {
  if (numerics.cross_entropy_loss_fusion) return activation_bytes(numerics.precision);
  const double width = activation_bytes(numerics.precision);
  const bool holds =
      numerics.kernel_fusion == KernelFusion::transformers || numerics.loss_chunks > 1;
  const double logits = holds && width < 4.0 ? width : 0.0;
  return logits + (layout.tensor_parallel_size > 1 ? 3 * 4.0 : 2 * 4.0);
}

// Head, loss and their backward for one piece of the tokens after the other (torchtitan
// ChunkedCELoss): the logits of one piece, the weight's gradient, and of all tokens the gradients
// by the hidden state, piece by piece and joined. The forward pass leaves no logits.
LogitsBytes in_pieces(LogitsBytes sizes, Bytes hidden, int pieces) {
  sizes.beside = (sizes.kept + sizes.beside) / pieces + sizes.weight_gradient + 2.0 * hidden;
  sizes.kept = sizes.gradient = {};
  return sizes;
}

// Layers that share one checkpoint (Megatron-LM --recompute-method uniform
// --recompute-num-layers n keeps the input of every n-th layer).
int layers_per_checkpoint(const Layout& layout) {
  const bool grouped = layout.recompute_granularity == RecomputeGranularity::full &&
                       layout.recompute_method == RecomputeMethod::uniform;
  return grouped ? std::max(1, layout.recompute_num_layers) : 1;
}

}  // namespace

Bytes layer_input_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                        const Layout& layout) {
  const double rows = static_cast<double>(meshwright::tokens(tokens));
  const int sequence_shards = layout.sequence_parallel ? layout.tensor_parallel_size : 1;
  const double width = 1.0 * model.num_residual_streams * model.hidden_size;
  return bytes(rows * width * activation_bytes(numerics.precision) / sequence_shards);
}

Bytes layer_activation_bytes(const Model& model, LayerKind kind, const Numerics& numerics,
                             const TokenShape& tokens, const Layout& layout,
                             bool fully_recomputed) {
  if (fully_recomputed) return layer_input_bytes(model, numerics, tokens, layout);
  Bytes sum;
  for (const Operator& op : layer_operators(model, kind, numerics, tokens, layout)) {
    sum += kept_bytes(op, layout);
  }
  return sum;
}

Bytes layer_weight_gradient_bytes(const Model& model, LayerKind kind, const Numerics& numerics,
                                  const TokenShape& tokens, const Layout& layout) {
  const RankShape shape = rank_shape(numerics, tokens, layout);
  Bytes sum;
  for (const Operator& op : layer_operators(model, kind, numerics, tokens, layout)) {
    if (trains_weight(op)) sum += weight_gradient_inputs(op, numerics, shape);
  }
  return sum;
}

std::vector<LayerRun> chunk_layers(const Model& model, const Layout& layout, const Stage& stage,
                                   std::size_t chunk) {
  int position = 0;  // in the stage
  for (std::size_t c = 0; c < chunk; ++c) position += stage.chunks[c].num_layers;
  const int recomputed = fully_recomputed_layers(layout, stage.num_layers());
  const int unit = layers_per_checkpoint(layout);
  std::vector<LayerRun> runs;
  for (int i = 0; i < stage.chunks[chunk].num_layers; ++i, ++position) {
    const StageLayer layer{layer_kind(model, stage.chunks[chunk].first_layer + i),
                           position < recomputed, position % unit == 0,
                           position < layout.cpu_offloading_num_layers};
    if (!runs.empty() && runs.back().layer == layer) {
      ++runs.back().count;
    } else {
      runs.push_back({layer, 1});
    }
  }
  return runs;
}

Bytes kept_bytes(const StageLayer& layer, const UnitBytes& units) {
  if (layer.offloaded) return {};
  const LayerBytes& bytes = units.layers[kind_index(layer.kind)];
  if (!layer.fully_recomputed) return bytes.kept - bytes.offloaded;
  return layer.keeps_checkpoint ? units.input : Bytes{};
}

Bytes offloaded_bytes(const StageLayer& layer, const UnitBytes& units) {
  const LayerBytes& bytes = units.layers[kind_index(layer.kind)];
  if (layer.fully_recomputed) return layer.offloaded ? units.input : Bytes{};
  return layer.offloaded ? bytes.kept : bytes.offloaded;
}

LogitsBytes logits_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                         const Layout& layout) {
  LogitsBytes sizes;
  for (const Operator& op : head_operators(model, numerics, tokens, layout)) {
    if (op.name == "cross_entropy") sizes.kept = op.saved;
    if (op.name != "logits") continue;
    const double width = activation_bytes(numerics.precision);
    sizes.gradient = bytes(static_cast<double>(op.m) * static_cast<double>(op.n) * width);
    sizes.weight_gradient = bytes(static_cast<double>(op.n) * static_cast<double>(op.k) * width);
    if (width < 4.0 && !numerics.cross_entropy_loss_fusion) sizes.beside = sizes.gradient;
    // Eager: the fp32 logits next to their softmax, and the copy that the previous micro-batch
    // still holds. transformers (loss_utils.py) calls torch's cross-entropy.
    if (numerics.kernel_fusion == KernelFusion::eager && !numerics.cross_entropy_loss_fusion) {
      sizes.beside = bytes(static_cast<double>(op.m) * static_cast<double>(op.n) * 2 * 4.0);
    }
    if (numerics.kernel_fusion == KernelFusion::compiled || numerics.loss_chunks > 1 ||
        (numerics.kernel_fusion == KernelFusion::transformers &&
         !numerics.cross_entropy_loss_fusion)) {
      sizes.beside = bytes(static_cast<double>(op.m) * static_cast<double>(op.n) *
                           torch_loss_bytes(numerics, layout));
    }
  }
  if (numerics.loss_chunks == 1) return sizes;
  const RankShape shape = rank_shape(numerics, tokens, layout);
  const double hidden = static_cast<double>(shape.rows) * model.hidden_size * shape.width;
  return in_pieces(sizes, bytes(hidden), numerics.loss_chunks);
}

Bytes head_activation_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                            const Layout& layout) {
  Bytes sum;
  Bytes norm_inputs;  // multi-token prediction that is run again keeps none
  for (const Operator& op : head_operators(model, numerics, tokens, layout)) {
    if (op.module == Module::head) continue;
    sum += op.saved * (1 + model.mtp_num_layers);
    if (mtp_is_recomputed(layout)) norm_inputs += op.saved * 0.5 * model.mtp_num_layers;
  }
  return sum - norm_inputs;
}

Bytes mtp_activation_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                           const Layout& layout) {
  if (model.mtp_num_layers == 0) return {};
  const LayerKind kind = layer_kind(model, model.num_layers - 1);
  const Bytes looked_up = saved_bytes(embedding_operators(model, numerics, tokens, layout));
  // Run again, it keeps the embedding of its tokens; its hidden state the head keeps.
  if (mtp_is_recomputed(layout)) {
    return model.mtp_num_layers * (looked_up + layer_input_bytes(model, numerics, tokens, layout));
  }
  return model.mtp_num_layers *
         (layer_activation_bytes(model, kind, numerics, tokens, layout, false) +
          saved_bytes(mtp_operators(model, numerics, tokens, layout)) + looked_up);
}

Bytes mtp_weight_gradient_bytes(const Model& model, const Numerics& numerics,
                                const TokenShape& tokens, const Layout& layout) {
  if (model.mtp_num_layers == 0) return {};
  const LayerKind kind = layer_kind(model, model.num_layers - 1);
  Bytes sum = layer_weight_gradient_bytes(model, kind, numerics, tokens, layout);
  for (const Operator& op : mtp_operators(model, numerics, tokens, layout)) {
    if (trains_weight(op))
      sum += weight_gradient_inputs(op, numerics, rank_shape(numerics, tokens, layout));
  }
  return model.mtp_num_layers * sum;
}

HeldBytes chunk_activations(const UnitBytes& units, const std::vector<LayerRun>& layers,
                            const Chunk& chunk) {
  HeldBytes sum;
  for (const LayerRun& run : layers) {
    sum.whole += run.count * kept_bytes(run.layer, units);
    sum.weight_only += run.count * units.layers[kind_index(run.layer.kind)].weight_gradient;
  }
  if (chunk.embedding) sum.whole += units.embedding;
  if (chunk.mtp) {
    sum.whole += units.mtp;
    sum.weight_only += units.mtp_weight_gradient;
  }
  // An empty chunk keeps the state that it passes on.
  if (layers.empty() && !chunk.embedding && !chunk.mtp && !chunk.head) sum.whole += units.input;
  if (chunk.head) {
    sum.whole += units.head;
    sum.logits = units.logits.kept * units.head_passes;
    sum.weight_only_logits = units.logits.gradient * units.head_passes;
    sum.weight_only += units.hidden * units.head_passes;
  }
  return sum;
}

Bytes embedding_activation_bytes(const Model& model, const Numerics& numerics,
                                 const TokenShape& tokens, const Layout& layout) {
  return saved_bytes(embedding_operators(model, numerics, tokens, layout));
}

Bytes expert_dispatch_bytes(const UnitBytes& units, const Layout& layout, unsigned kinds) {
  const int ranks = layout.expert_parallel_size * expert_tensor_size(layout);
  const bool gathers = layout.moe_token_dispatcher_type == MoeTokenDispatcherType::allgather;
  if (ranks == 1) return {};
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    if ((kinds >> k & 1U) != 0 && layer_kind_of(k).mixture_of_experts) {
      return gathers ? units.hidden * ranks : units.layers[k].sizes.dispatched;
    }
  }
  return {};
}

}  // namespace meshwright
