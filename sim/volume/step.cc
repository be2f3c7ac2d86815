// SPDX-License-Identifier: Apache-2.0
// What happens once a step beside the gradients' own reduction: parameters that several ranks hold,
// and scalars (Megatron-LM core/distributed/finalize_model_grads.py, core/optimizer/clip_grads.py).
#include "sim/block/parameters.h"
#include "sim/block/recurrent.h"
#include "sim/block/transfer_names.h"
#include "sim/memory/model_state.h"
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

Bytes in_gradient_precision(const VolumeScope& scope, double elements) {
  return bytes(elements * bytes_per_element(scope.job.gradient_precision));
}

// Parameters that every tensor rank holds whole and that have seen only a piece of the sequence:
// norms, biases of row-parallel linears, router, MLA's down projections. Learned positions have
// seen all of it.
double replicated_parameters(const Model& model, const Stage& stage) {
  // With no rows only the final norm is left; the embedding's norm has the same size.
  const auto norm = static_cast<double>(head_parameters(model, 0));
  double sum = 0;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = chunk.first_layer; i < chunk.first_layer + chunk.num_layers; ++i) {
      sum += static_cast<double>(layer_parameters(model, layer_kind(model, i)).replicated);
    }
    if (chunk.embedding && model.embedding_layer_norm) sum += norm;
    if (has_final_norm(model, chunk)) sum += norm;
    if (chunk.mtp && model.mtp_num_layers > 0) {
      sum += static_cast<double>(mtp_layer_parameters(model).replicated) * model.mtp_num_layers;
    }
  }
  return sum;
}

// Weights of norms over a query's or key's head are whole on every tensor rank, which has seen its
// heads only, with or without pieces of the sequence (Megatron-LM finalize_model_grads.py:
// q_layernorm, k_layernorm).
double head_norm_parameters(const Model& model, const Stage& stage) {
  const bool by_head = model.qk_layernorm && !model.qk_layernorm_all_heads && !model.mla;
  const double attention = by_head && model.num_attention_heads > 0
                               ? 2.0 * static_cast<double>(norm_numbers(model, model.kv_channels))
                               : 0.0;
  const auto mixer = recurrent_mixer(model);
  const auto of_layer = [&](int layer) {
    const LayerKind kind = layer_kind(model, layer);
    const double softmax = attends(kind) ? attention : 0.0;
    return softmax + (kind.linear_attention ? static_cast<double>(mixer->head_norm) : 0.0);
  };
  double sum = 0.0;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) sum += of_layer(chunk.first_layer + i);
    if (chunk.mtp) sum += model.mtp_num_layers * of_layer(model.num_layers - 1);
  }
  return sum;
}

int expert_layers(const Model& model, const Stage& stage) {
  int sum = 0;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      if (layer_kind(model, chunk.first_layer + i).mixture_of_experts) ++sum;
    }
  }
  return sum;
}

// The first stage and another hold the embedding: tied to the head, or used by multi-token
// prediction. The ends of a V share a rank, and the mirrored stages' sum covers theirs.
bool shares_embedding(const VolumeScope& scope, const Stage& stage) {
  const Model& model = scope.model;
  if (scope.layout.pipeline_parallel_size == 1 || model.vocab_size == 0) return false;
  if (freezes_weights(scope.job)) return false;  // nothing to sum
  const bool predicts = model.mtp_num_layers > 0;
  if (!model.tied_embeddings && !predicts) return false;
  return stage.has_embedding() !=
         ((predicts && stage.has_mtp()) || (model.tied_embeddings && stage.has_head()));
}

}  // namespace

void add_shared_parameter_transfers(Ledger& ledger, const VolumeScope& scope, const Stage& stage) {
  const Layout& layout = scope.layout;
  if (freezes_weights(scope.job)) return;
  const double summed = layout.sequence_parallel ? replicated_parameters(scope.model, stage)
                                                 : head_norm_parameters(scope.model, stage);
  // DTensor has summed them in each backward pass (tensor.cc).
  if (layout.tensor_parallel_size > 1 && summed > 0.0 && !uses_dtensor(layout)) {
    // Sharded gradients: what falls into a rank's shard, on the mean of the data ranks.
    const bool sharded = layout.zero_stage > 1 && !fsdp_reduces_once(scope.job, layout);
    const double parts = sharded ? zero_shard_group_size(layout) : 1.0;
    ledger.add({.name = transfer_names::kReplicatedGradientAllReduce,
                .group = Group::tensor,
                .collective = Collective::all_reduce,
                .phase = Phase::step,
                .group_size = layout.tensor_parallel_size,
                .times_per_step = 1,
                .payload = in_gradient_precision(scope, summed / parts),
                .overlappable = false,
                .formula = sharded ? "N_replicated*g/shard" : "N_replicated*g"});
  }
  if (!shares_embedding(scope, stage)) return;
  const auto rows = static_cast<double>(padded_vocab_size(
      scope.model, scope.job.make_vocab_size_divisible_by, layout.tensor_parallel_size));
  ledger.add({.name = transfer_names::kSharedEmbeddingAllReduce,
              .group = Group::embedding,
              .collective = Collective::all_reduce,
              .phase = Phase::step,
              .group_size = 2,
              .times_per_step = 1,
              .payload = in_gradient_precision(
                  scope, rows / layout.tensor_parallel_size * scope.model.hidden_size),
              .overlappable = false,
              .formula = "V*h*g/t"});
}

void add_scalar_transfers(Ledger& ledger, const VolumeScope& scope, const Stage& stage) {
  const Layout& layout = scope.layout;
  const Bytes scalar = bytes(bytes_per_element(Precision::fp32));
  const int model_ranks = layout.tensor_parallel_size * layout.pipeline_parallel_size;
  const int data_ranks = gradient_group_size(layout);
  const auto sum = [&](std::string_view name, Group group, int size, Bytes payload,
                       std::string_view formula) {
    ledger.add({.name = name,
                .group = group,
                .collective = Collective::all_reduce,
                .phase = Phase::step,
                .group_size = size,
                .times_per_step = 1,
                .payload = payload,
                .overlappable = false,
                .formula = formula});
  };
  if (uses_dtensor(layout)) {
    // Each group sums the vector of all tensors' norms, in the optimizer's weights' format. Experts
    // are on a mesh of their own, which is one group where no other axis cuts it.
    const StageParameters tensors = weight_tensors(scope.model, scope.job, layout, stage);
    const Bytes number = bytes(scope.job.master_weights ? 4.0 : weight_bytes(scope.job.precision));
    const auto norms = [&](Group group, int size, double count) {
      sum("gradient norm all-reduce", group, size, number * count, "4*tensors");
    };
    const bool sharded = uses_fsdp(layout);
    norms(Group::tensor, layout.tensor_parallel_size, tensors.dense);
    if (sharded) norms(Group::data, zero_shard_group_size(layout), tensors.dense);
    if (sharded && layout.tensor_parallel_size == 1 && layout.zero_shard_size == 0) {
      norms(Group::data, data_ranks, tensors.expert);
    } else {
      norms(Group::expert, layout.expert_parallel_size, tensors.expert);
      if (sharded) norms(Group::expert_data, expert_shard_group_size(layout), tensors.expert);
    }
    // Tokens of each expert, by which the router's bias is moved (torchtitan, load_balance_coeff).
    const Bytes tokens = scalar * expert_layers(scope.model, stage) *
                         (scope.model.moe ? scope.model.moe->num_moe_experts : 0);
    sum(transfer_names::kExpertTokensAllReduce, Group::data, data_ranks, tokens, "4*E*layers");
    if (layout.expert_parallel_size > 1) {
      sum(transfer_names::kExpertTokensAllReduce, Group::tensor, layout.tensor_parallel_size,
          tokens, "4*E*layers");
    }
    sum("gradient norm all-reduce over stages", Group::pipeline, layout.pipeline_parallel_size,
        scalar, "4");
  } else {
    sum("gradient norm all-reduce", Group::model, model_ranks, scalar, "4");
    if (layout.zero_stage > 0) {
      sum("gradient norm all-reduce over shards", Group::data, data_ranks, scalar, "4");
    }
  }
  if (scope.job.precision == Precision::fp16) {
    sum("overflow flag all-reduce", Group::model, model_ranks, scalar, "4");
  }
  if (!stage.has_head()) return;
  if (!uses_dtensor(layout)) {
    sum(transfer_names::kLossAllReduce, Group::data, data_ranks, scalar * 2.0, "8");
    return;
  }
  sum(transfer_names::kTokenCountAllReduce, Group::data, layout.data_parallel_size, scalar * 2.0,
      "8");
  sum(transfer_names::kLossAllReduce, Group::data, data_ranks, scalar, "4");
}

}  // namespace meshwright
