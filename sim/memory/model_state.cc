// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/model_state.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/narrow_format.h"
#include "sim/layout/pipeline_shape.h"
#include "sim/operators/operators.h"
#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

// Bytes of optimizer state per parameter.
double optimizer_bytes(const Job& job) {
  const double state = moment_bytes(job) + master_bytes(job);
  // fp16 gradients are unscaled into an fp32 copy: Megatron-LM dist_optimizer.md's 20 bytes.
  const bool fp32_copy =
      job.precision == Precision::fp16 && bytes_per_element(job.gradient_precision) < 4.0;
  return state + (fp32_copy ? 4.0 : 0.0);
}

double sharded(const StageParameters& parameters, const Layout& layout, int from_stage) {
  if (layout.zero_stage < from_stage) return parameters.dense + parameters.expert;
  return parameters.dense / zero_shard_group_size(layout) +
         parameters.expert / expert_shard_group_size(layout);
}

// Parameters of a stage's layers behind the operators that are asked for.
template <typename Asked>
StageParameters operator_parameters(const Model& model, const Numerics& numerics,
                                    const Layout& layout, const Stage& stage, Asked asked) {
  StageParameters found;
  // Weights have the same shape however many tokens they meet.
  const std::int64_t any = layout.tensor_parallel_size;
  std::array<std::optional<StageParameters>, kLayerKinds> known;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      const LayerKind kind = layer_kind(model, chunk.first_layer + i);
      std::optional<StageParameters>& of_kind = known[kind_index(kind)];
      if (!of_kind) {
        of_kind.emplace();
        for (const Operator& op : layer_operators(model, kind, numerics, {1, any, any}, layout)) {
          if (!op.has_weight || !asked(op)) continue;
          (op.of_expert ? of_kind->expert : of_kind->dense) +=
              static_cast<double>(op.batch) * static_cast<double>(op.k) * static_cast<double>(op.n);
        }
      }
      found.dense += of_kind->dense;
      found.expert += of_kind->expert;
    }
  }
  return found;
}

// PyTorch's DistributedDataParallel holds the gradients once more, in the weights' format, in the
// buckets that it reduces (nn/parallel/distributed.py); Megatron-LM reduces the main gradients.
Bytes bucket_bytes(const StageParameters& parameters, const Numerics& numerics,
                   const Layout& layout) {
  if (gradient_group_size(layout) == 1 || layout.zero_stage > 1) return {};
  return bytes((parameters.dense + parameters.expert) * weight_bytes(numerics.precision));
}

// Tells whether all gathered parameters are there at once: below a pipeline for the whole step,
// with zero_stage 1 and 2 when the backward begins. One unit of everything is FSDP's root, which
// fsdp_buffers() counts for any stage.
bool keeps_gathered(const Layout& layout) {
  return fsdp_below_pipeline(layout) ||
         (uses_fsdp(layout) && layout.zero_stage < 3 && layout.fsdp_unit != FsdpUnit::whole);
}

// PyTorch FSDP keeps parameters, gradients and moments in fp32 shards: 16 bytes a parameter with
// Adam. Whole beside them: the gathered parameters that stay, and gradients that add up over
// micro-batches, in the format that they are reduced in. The optimizer leaves no gradients
// (zero_grad), and a unit's shard comes when its whole gradient goes: the larger of both counts
// (_fsdp_param_group.py, post_backward; _fsdp_param.py, to_accumulated_grad_if_needed).
StageMemory fsdp_state_memory(const StageParameters& parameters, const Job& job,
                              const Layout& layout) {
  const double master = job.master_weights ? 4.0 : weight_bytes(job.precision);
  const double whole = parameters.dense + parameters.expert;
  const double shard = sharded(parameters, layout, 1);
  StageMemory memory;
  memory.weights = bytes(shard * master);
  memory.gradients = bytes(shard * master);
  if (keeps_gathered(layout)) memory.weights += bytes(whole * weight_bytes(job.precision));
  if (fsdp_reduces_once(job, layout)) {
    const Bytes summed = bytes(whole * bytes_per_element(job.gradient_precision));
    memory.gradients = std::max(memory.gradients, summed);
  }
  if (!layout.optimizer_offload) memory.optimizer = bytes(shard * moment_bytes(job));
  return memory;
}

// Parameters of no layer that FSDP has gathered: those of the root, or of the head's unit while the
// loss runs. Units of everything have no other root, and parameters that all stay gathered count
// with the states.
Bytes gathered_root(const Model& model, const Job& job, const Layout& layout, const Stage& stage,
                    bool at_loss) {
  if (layout.fsdp_unit == FsdpUnit::whole || keeps_gathered(layout)) return {};
  const bool units = layout.fsdp_vocabulary != FsdpVocabulary::root;
  if (units && !at_loss) return {};
  Stage root = stage;
  for (Chunk& chunk : root.chunks) {
    chunk.num_layers = 0;
    if (units && !(model.tied_embeddings && chunk.head)) chunk.embedding = false;
  }
  const double weight =
      freezes_weights(job) ? frozen_weight_bytes(job) : weight_bytes(job.precision);
  return bytes(stage_parameters(model, job, layout, root).dense * weight);
}

// Buffers of FSDP in backward: the unit at work and its gradient, the next unit's gathered
// parameters, and the input of one reduce-scatter (_fsdp_param_group.py). The root stays gathered.
// Parameters that all stay gathered count with the states, and so does a reduction's input where
// gradients are reduced once: it is the whole gradient. In a pipeline only that input counts here.
Bytes fsdp_buffers(const Model& model, const Job& job, const Layout& layout, const Stage& stage) {
  const bool frozen = freezes_weights(job);
  const double weight = frozen ? frozen_weight_bytes(job) : weight_bytes(job.precision);
  const double gradient = frozen ? 0.0 : bytes_per_element(job.gradient_precision);
  const StageParameters all = stage_parameters(model, job, layout, stage);
  const bool whole = layout.fsdp_unit == FsdpUnit::whole;
  double unit = whole ? all.dense + all.expert : largest_layer_parameters(model, layout, stage);
  if (layout.fsdp_unit == FsdpUnit::module) {
    unit = static_cast<double>(model.hidden_size) * model.ffn_hidden_size /
           layout.tensor_parallel_size;
  }
  if (fsdp_below_pipeline(layout)) return bytes(unit * gradient);
  const double reduced = fsdp_reduces_once(job, layout) ? 0.0 : gradient;
  if (whole) return bytes(unit * std::max(2.0 * weight + reduced, gradient));
  if (keeps_gathered(layout)) return bytes(unit * std::max(weight + reduced, gradient));
  return bytes(unit * std::max(3.0 * weight + reduced, weight + gradient)) +
         gathered_root(model, job, layout, stage, false);
}

}  // namespace

Bytes weight_memory(const StageParameters& parameters, const Numerics& numerics,
                    const Layout& layout) {
  return bytes(sharded(parameters, layout, 3) * weight_bytes(numerics.precision));
}

StageParameters linear_parameters(const Model& model, const Numerics& numerics,
                                  const Layout& layout, const Stage& stage) {
  return operator_parameters(model, numerics, layout, stage, is_layer_linear);
}

StageParameters adapter_parameters(const Model& model, const Numerics& numerics,
                                   const Layout& layout, const Stage& stage) {
  if (!freezes_weights(numerics)) return {};
  return operator_parameters(model, numerics, layout, stage,
                             [](const Operator& op) { return op.adapter; });
}

StageParameters trained_parameters(const Model& model, const Numerics& numerics,
                                   const Layout& layout, const Stage& stage) {
  return freezes_weights(numerics) ? adapter_parameters(model, numerics, layout, stage)
                                   : stage_parameters(model, numerics, layout, stage);
}

StageParameters reduced_parameters(const Model& model, const Numerics& numerics,
                                   const Layout& layout, const Stage& stage) {
  if (uses_fsdp(layout) && uses_dtensor(layout) && !freezes_weights(numerics)) {
    return padded_parameters(model, numerics, layout, stage);
  }
  return trained_parameters(model, numerics, layout, stage);
}

StageParameters frozen_bytes(const Model& model, const Numerics& numerics, const Layout& layout,
                             const Stage& stage) {
  const StageParameters all = stage_parameters(model, numerics, layout, stage);
  const StageParameters linears = linear_parameters(model, numerics, layout, stage);
  const double stored = frozen_weight_bytes(numerics);
  const double others = weight_bytes(numerics.precision);
  return {(all.dense - linears.dense) * others + linears.dense * stored,
          (all.expert - linears.expert) * others + linears.expert * stored};
}

StageMemory model_state_memory(const StageParameters& parameters, const TrainingJob& job,
                               const Layout& layout) {
  if (uses_fsdp(layout)) return fsdp_state_memory(parameters, job, layout);
  StageMemory memory;
  memory.weights = weight_memory(parameters, job, layout);
  memory.gradients = bytes(sharded(parameters, layout, 2) * gradient_bytes(job, layout));
  if (is_eager(job.kernel_fusion)) memory.gradients += bucket_bytes(parameters, job, layout);
  if (!layout.optimizer_offload) {
    memory.optimizer = bytes(sharded(parameters, layout, 1) * optimizer_bytes(job));
  }
  return memory;
}

// ZeRO-3 gathers one layer (or the embedding) while the next is prefetched, and reduces the whole
// gradient of one (arXiv 1910.02054, section 7.2; DeepSpeed prefetches about a layer).
Bytes zero_3_buffers(const Model& model, const Job& job, const Layout& layout, const Stage& stage) {
  if (gradient_group_size(layout) == 1) return {};
  if (uses_fsdp(layout)) return fsdp_buffers(model, job, layout, stage);
  if (layout.zero_stage < 3) return {};
  double largest = largest_layer_parameters(model, layout, stage);
  for (const Chunk& chunk : stage.chunks) {
    if (!chunk.embedding && !chunk.head) continue;
    largest = std::max(largest, double(local_vocab_rows(model, job, layout)) * model.hidden_size);
  }
  return bytes(largest *
               (2.0 * weight_bytes(job.precision) + bytes_per_element(job.gradient_precision)));
}

double gathered_narrow_bytes(const Numerics& numerics) {
  const bool in_16_bits = numerics.fp8_recipe == Fp8Recipe::mxfp8;
  return in_16_bits ? weight_bytes(numerics.precision) : bytes_per_element(numerics.precision);
}

StageParameters fp8_parameters(const Model& model, const Numerics& numerics, const Layout& layout,
                               const Stage& stage) {
  if (!is_narrow(numerics.precision)) return {};
  return linear_parameters(model, numerics, layout, stage);
}

Bytes fp8_weights(const Model& model, const Numerics& numerics, const Layout& layout,
                  const Stage& stage) {
  if (layout.zero_stage == 3 || uses_fsdp(layout)) return {};
  const StageParameters parameters = fp8_parameters(model, numerics, layout, stage);
  double instead = gathers_fp8_params(numerics, layout) ? weight_bytes(numerics.precision) : 0.0;
  if (freezes_weights(numerics) && numerics.frozen_weight_precision == Precision::fp8) {
    instead = frozen_weight_bytes(numerics);
  }
  return bytes((parameters.dense + parameters.expert) *
               (weight_copies(numerics) * operand_bytes(numerics) - instead));
}

StageMemory static_memory(const Model& model, const Job& job, const Layout& layout,
                          const Stage& stage) {
  StageMemory memory =
      model_state_memory(reduced_parameters(model, job, layout, stage), job, layout);
  // Of a looped pipeline's chunks a few are gathered at a time (sim/volume/data.cc).
  const auto chunks = static_cast<double>(stage.chunks.size());
  const bool in_turn = layout.tensor_engine == TensorEngine::spmd_types;
  if (fsdp_below_pipeline(layout) && in_turn && chunks > kGatheredChunks) {
    const StageParameters all = stage_parameters(model, job, layout, stage);
    memory.weights -= bytes((all.dense + all.expert) * (1.0 - kGatheredChunks / chunks) *
                            weight_bytes(job.precision));
  }
  if (freezes_weights(job)) {
    const StageParameters frozen = frozen_bytes(model, job, layout, stage);
    memory.weights += bytes(sharded(frozen, layout, uses_fsdp(layout) ? 1 : 3));
    if (keeps_gathered(layout)) memory.weights += bytes(frozen.dense + frozen.expert);
  }
  memory.weights += fp8_weights(model, job, layout, stage);
  memory.communication_buffers = zero_3_buffers(model, job, layout, stage);
  return in_whole_bytes(memory);
}

StageMemory static_memory_at_loss(StageMemory held, const Model& model, const Job& job,
                                  const Layout& layout, const Stage& stage) {
  if (!lighter_at_loss(layout)) return held;
  if (num_micro_batches(job.global_batch_size, layout) == 1) held.gradients = {};
  if (gradient_group_size(layout) > 1 && layout.fsdp_unit != FsdpUnit::whole) {
    held.communication_buffers = gathered_root(model, job, layout, stage, true);
  }
  return in_whole_bytes(held);
}

}  // namespace meshwright
