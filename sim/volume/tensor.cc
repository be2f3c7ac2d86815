// SPDX-License-Identifier: Apache-2.0
// The tensor group's calls inside the layers, as Megatron-LM's core/tensor_parallel/layers.py makes
// them, or PyTorch's DTensor (TensorEngine). A block is a column-parallel linear followed by a
// row-parallel one.
#include <bit>

#include "sim/block/attention.h"
#include "sim/block/layer.h"
#include "sim/block/mlp.h"
#include "sim/block/parameters.h"
#include "sim/block/recurrent.h"
#include "sim/operators/operators.h"
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

using transfer_names::BlockNames;
using transfer_names::kHiddenFormula;

// Number of times that a block runs per micro-batch.
struct Times {
  double forward = 0;
  double recompute = 0;
};

class TensorLedger {
 public:
  TensorLedger(Ledger& ledger, const VolumeScope& scope) : ledger_(ledger), scope_(scope) {}

  // A column-parallel linear's input of `width` columns: gathered forward, reduced backward, and
  // gathered once more for the weight gradient where the piece is what was saved. That gather runs
  // beside the input gradient's product, the reduction beside the weight gradient's.
  void input(const BlockNames& names, Times times, double width, std::string_view formula) {
    if (!scope_.layout.sequence_parallel) {
      add(names.input_gradient_all_reduce, Collective::all_reduce, Phase::backward, times.forward,
          width, formula, true);
      return;
    }
    const bool overlap = scope_.layout.tp_comm_overlap;
    gather(names.input_all_gather, Phase::forward, times.forward, width, formula, overlap);
    gather(names.input_all_gather, Phase::recompute, times.recompute, width, formula, overlap);
    // Frozen weights have no gradient, and adapters keep their input gathered.
    if (!freezes_weights(scope_.job) && !uses_dtensor(scope_.layout)) {
      gather(names.input_all_gather_again, Phase::backward, times.forward, width, formula, true);
    }
    add(names.input_gradient_reduce_scatter, Collective::reduce_scatter, Phase::backward,
        times.forward, width, formula, true);
  }

  // A row-parallel linear's output. Recompute runs a layer to its end, last reduction included.
  void output(const BlockNames& names, Times times) {
    const double h = scope_.model.hidden_size;
    if (!scope_.layout.sequence_parallel) {
      add(names.output_all_reduce, Collective::all_reduce, Phase::forward, times.forward, h,
          kHiddenFormula, false);
      add(names.output_all_reduce, Collective::all_reduce, Phase::recompute, times.recompute, h,
          kHiddenFormula, false);
      return;
    }
    const bool overlap = scope_.layout.tp_comm_overlap;
    add(names.output_reduce_scatter, Collective::reduce_scatter, Phase::forward, times.forward, h,
        kHiddenFormula, overlap);
    add(names.output_reduce_scatter, Collective::reduce_scatter, Phase::recompute, times.recompute,
        h, kHiddenFormula, overlap);
    gather(names.output_gradient_all_gather, Phase::backward, times.forward, h, kHiddenFormula,
           overlap);
  }

  // A vector that all heads share: each rank has its heads' share of its gradient.
  void shared(const LayerPart& part, Times times) {
    const auto width = static_cast<double>(part.outputs);
    const BlockNames& names = *part.transfers;
    if (!scope_.layout.sequence_parallel) {
      add(names.input_gradient_all_reduce, Collective::all_reduce, Phase::backward, times.forward,
          width, part.exchanged, false);
      return;
    }
    add(names.input_all_gather, Collective::all_gather, Phase::forward, times.forward, width,
        part.exchanged, false);
    add(names.input_all_gather, Collective::all_gather, Phase::recompute, times.recompute, width,
        part.exchanged, false);
    add(names.input_gradient_reduce_scatter, Collective::reduce_scatter, Phase::backward,
        times.forward, width, part.exchanged, false);
  }

  // Fewer key-value groups than ranks: the linear's columns are gathered, each rank picks its own
  // (Megatron-LM core/transformer/attention.py).
  void shared_groups(const LayerPart& part, Times times) {
    if (part.groups == 0 || part.groups >= scope_.layout.tensor_parallel_size) return;
    const auto width = static_cast<double>(part.outputs);
    const std::string_view formula = "b*s*(q+2*kv)*w/c";
    const std::string_view name = transfer_names::kSharedGroupsAllGather;
    add(name, Collective::all_gather, Phase::forward, times.forward, width, formula, false);
    add(name, Collective::all_gather, Phase::recompute, times.recompute, width, formula, false);
    add(transfer_names::kSharedGroupsReduceScatter, Collective::reduce_scatter, Phase::backward,
        times.forward, width, formula, false);
  }

  // LayerParts of one layer, whose modules the layout may run again.
  void parts(const LayerParts& parts, Times times) {
    for (const LayerPart& part : parts) {
      Times again = times;
      const bool op_again = part.exchange == Exchange::output ? op_reduces_again(scope_.layout)
                                                              : op_gathers_again(scope_.layout);
      if (op_again || recomputes_module(scope_.layout, part.module)) {
        again.recompute = times.forward;
      }
      shared_groups(part, times);
      if (uses_dtensor(scope_.layout)) whole_gradients(part, times.forward);
      switch (part.exchange) {
        case Exchange::none:
          break;
        case Exchange::input:
          input(*part.transfers, again, static_cast<double>(part.inputs), part.exchanged);
          break;
        case Exchange::output:
          output(*part.transfers, again);
          break;
        case Exchange::shared:
          shared(part, times);
          break;
      }
    }
  }

  // DTensor sums the gradient of a weight that tensor ranks share in each backward pass, before it
  // is sharded: each has seen its piece of the sequence, or beside a column-parallel linear its
  // columns.
  void whole_gradients(const LayerPart& part, double times) {
    if (part.experts > 0 || part.forward_only) return;
    if (!scope_.layout.sequence_parallel && part.split != Split::columns) return;
    if (part.split == Split::whole) {
      whole_gradient(static_cast<double>(part.weights()), times);
    }
    const double vectors = vector_count(scope_.model, part);
    whole_gradient(static_cast<double>(part.whole_numbers) / vectors, vectors * times);
  }
  void whole_gradient(double numbers, double times) {
    if (freezes_weights(scope_.job)) return;
    ledger_.add_tensor_call(scope_, transfer_names::kReplicatedGradientAllReduce,
                            Collective::all_reduce, Phase::backward, times,
                            bytes(numbers * bytes_per_element(scope_.job.gradient_precision)),
                            "n*g", false);
  }

  void add(std::string_view name, Collective collective, Phase phase, double times, double width,
           std::string_view formula, bool overlappable) {
    ledger_.add_tensor_call(scope_, name, collective, phase, times, scope_.activation(width),
                            formula, overlappable);
  }

 private:
  // Adds the gather of a linear's input.
  void gather(std::string_view name, Phase phase, double times, double width,
              std::string_view formula, bool overlappable) {
    ledger_.add_tensor_call(scope_, name, Collective::all_gather, phase, times,
                            scope_.operand(width), formula, overlappable);
  }

  Ledger& ledger_;
  const VolumeScope& scope_;
};

int count_of(LoraModules modules, unsigned among) { return std::popcount(modules.bits & among); }

// Beside a column-parallel linear A's columns are gathered. Beside a row-parallel one A's products
// are summed, and B's columns gathered or exchanged for rows (Megatron-Bridge peft/utils.py,
// ParallelLinearAdapter). B's input gradient is summed in both.
class AdapterLedger {
 public:
  AdapterLedger(TensorLedger& tensor, const VolumeScope& scope) : tensor_(tensor), scope_(scope) {}

  void columns(Times times, int count) {
    each(kNames.low_rank_gather, Collective::all_gather, times, count, rank(), kRankFormula);
    backward(kNames.low_rank_gradient_reduce, Collective::all_reduce, times, count, rank(),
             kRankFormula);
  }
  void rows(Times times, int count) {
    const double h = scope_.model.hidden_size;
    const double t = scope_.layout.tensor_parallel_size;
    each(kNames.low_rank_reduce, Collective::all_reduce, times, count, rank(), kRankFormula);
    backward(kNames.low_rank_gradient_reduce, Collective::all_reduce, times, count, rank(),
             kRankFormula);
    const bool sequence = scope_.layout.sequence_parallel;
    if (scope_.job.lora_all_to_all && sequence) {
      each(kNames.output_exchange, Collective::all_to_all, times, count, h / t, "b*s*h*w/(c*t)");
      backward(kNames.output_gradient_exchange, Collective::all_to_all, times, count, h / t,
               "b*s*h*w/(c*t)");
      return;
    }
    each(kNames.output_gather, Collective::all_gather, times, count, h, kHiddenFormula);
    if (!sequence) return;
    backward(kNames.output_gradient_gather, Collective::all_gather, times, count, h,
             kHiddenFormula);
  }

 private:
  static constexpr transfer_names::AdapterNames kNames = transfer_names::kAdapters;
  static constexpr std::string_view kRankFormula = "b*s*r*w/c";

  [[nodiscard]] double rank() const { return scope_.job.lora_rank; }
  void each(std::string_view name, Collective collective, Times times, int count, double width,
            std::string_view formula) {
    tensor_.add(name, collective, Phase::forward, times.forward * count, width, formula, false);
    tensor_.add(name, collective, Phase::recompute, times.recompute * count, width, formula, false);
  }
  void backward(std::string_view name, Collective collective, Times times, int count, double width,
                std::string_view formula) {
    tensor_.add(name, collective, Phase::backward, times.forward * count, width, formula, false);
  }

  TensorLedger& tensor_;
  const VolumeScope& scope_;
};

void add_adapter_transfers(TensorLedger& tensor, const VolumeScope& scope, Times attention,
                           Times mlp) {
  if (!freezes_weights(scope.job)) return;
  const LoraModules modules = scope.job.lora_target_modules;
  AdapterLedger adapters(tensor, scope);
  if (scope.model.num_attention_heads > 0) {
    adapters.columns(attention, count_of(modules, kLoraQkv | kLoraQ | kLoraK | kLoraV));
    adapters.rows(attention, count_of(modules, kLoraProj));
  }
  adapters.columns(mlp, count_of(modules, kLoraFc1 | kLoraFc1Up | kLoraFc1Gate));
  adapters.rows(mlp, count_of(modules, kLoraFc2));
}

// Attention's parts. DTensor gathers the hidden state in front of latent attention, whose latents
// are then whole on each rank; Megatron-LM gathers the latents.
LayerParts exchanging_parts(const Model& model, const Layout& layout) {
  LayerParts parts = attention_parts(model, {});
  const bool latent = model.mla || model.compressed_attention;
  if (!latent || !uses_dtensor(layout)) return parts;
  for (LayerPart& part : parts) {
    if (part.exchange == Exchange::input || part.exchange == Exchange::shared) {
      part.exchange = Exchange::none;
    }
  }
  parts.front().exchange = Exchange::input;
  parts.front().transfers = &transfer_names::kAttention;
  parts.front().exchanged = kHiddenFormula;
  parts.front().inputs = model.hidden_size;
  return parts;
}

}  // namespace

void add_tensor_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls) {
  TensorLedger tensor(ledger, scope);
  const Model& model = scope.model;
  const Times attention{calls.layers.softmax(), calls.recomputed.softmax()};
  const Times mlp{calls.layers.dense(), calls.recomputed.dense()};
  const Times expert{calls.layers.experts(), calls.recomputed.experts()};
  if (model.parallel_attention_mlp && model.num_attention_heads > 0) {
    // One sum of both branches is reduced. Running only the MLP again needs no reduction, but under
    // sequence parallelism its input again.
    using transfer_names::kParallel;
    tensor.shared_groups(query_key_value(model), mlp);
    tensor.output(kParallel, mlp);
    Times both = mlp;
    const bool mlp_again = recomputes_module(scope.layout, kRecomputeMlp);
    if (mlp_again && scope.layout.sequence_parallel) both.recompute = mlp.forward;
    tensor.input(kParallel, both, model.hidden_size, kHiddenFormula);
    tensor.parts(attention_parts(model, {}), expert);
  } else {
    tensor.parts(exchanging_parts(model, scope.layout), attention);
    if (const auto mixer = recurrent_mixer(model)) {
      tensor.parts(mixer->parts(), {calls.layers.recurrent(), calls.recomputed.recurrent()});
    }
    tensor.parts(dense_mlp_parts(model), mlp);
  }
  add_adapter_transfers(tensor, scope, attention, mlp);
  if (model.moe) tensor.parts(expert_parts(model), expert);
  if (!uses_dtensor(scope.layout)) return;
  double norms = 0;
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    const LayerKind kind = layer_kind_of(k);
    norms += calls.layers.of(kind) * layer_norms(model, kind);
  }
  tensor.whole_gradients({.whole_numbers = norm_numbers(model, model.hidden_size)}, norms);
  const bool final_norm = calls.heads > 0 && scope.layout.sequence_parallel;
  if (final_norm) tensor.whole_gradient(static_cast<double>(head_parameters(model, 0)), 1);
}

}  // namespace meshwright
