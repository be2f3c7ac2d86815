// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/memory.h"

#include <algorithm>

#include "sim/cost/activation_memory.h"
#include "sim/model/operators.h"
#include "sim/model/parameters.h"
#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

bool holds_embedding(const Stage& stage) {
  return std::any_of(stage.chunks.begin(), stage.chunks.end(),
                     [](const Chunk& c) { return c.embedding; });
}

void add_layer(StageParameters& sum, const LayerParameters& layer, const Layout& layout) {
  const double experts = double(layout.expert_parallel_size) * expert_tensor_size(layout);
  sum.dense += static_cast<double>(layer.sharded) / layout.tensor_parallel_size +
               static_cast<double>(layer.replicated);
  sum.expert += static_cast<double>(layer.expert) / experts;
}

// The head's norm, matrix and multi-token-prediction layers; also the copy of the token embedding
// that a tied head or multi-token prediction needs on a stage without it (Megatron-LM,
// LanguageModule: the copies' gradients are all-reduced over the embedding group).
void add_head(StageParameters& sum, const Model& model, const Layout& layout,
              std::int64_t vocab_rows, bool has_embedding) {
  sum.dense += static_cast<double>(head_parameters(model, vocab_rows));
  for (int i = 0; i < model.mtp_num_layers; ++i) {
    add_layer(sum, mtp_layer_parameters(model), layout);
  }
  if (has_embedding || model.vocab_size == 0) return;
  if (model.mtp_num_layers > 0) {
    sum.dense += static_cast<double>(embedding_parameters(model, vocab_rows));
  } else if (model.tied_embeddings) {
    sum.dense += static_cast<double>(vocab_rows) * model.hidden_size;
  }
}

// Bytes of optimizer state per parameter.
double optimizer_bytes(const Job& job) {
  double state = bytes_per_element(job.exp_avg_precision);  // SGD: its momentum
  if (job.optimizer == Optimizer::adam) state += bytes_per_element(job.exp_avg_sq_precision);
  if (has_master_weights(job.precision)) state += 4.0;
  // fp16 gradients are unscaled into an fp32 copy: Megatron-LM dist_optimizer.md's 20 bytes.
  const bool fp32_copy =
      job.precision == Precision::fp16 && bytes_per_element(job.gradient_precision) < 4.0;
  return state + (fp32_copy ? 4.0 : 0.0);
}

// Ranks that share one copy of the expert parameters' state.
int expert_shard_group_size(const Layout& layout) {
  const int group = expert_data_parallel_size(layout);
  return layout.zero_shard_size == 0 ? group : std::min(group, layout.zero_shard_size);
}

double sharded(const StageParameters& parameters, const Layout& layout, int from_stage) {
  if (layout.zero_stage < from_stage) return parameters.dense + parameters.expert;
  return parameters.dense / zero_shard_group_size(layout) +
         parameters.expert / expert_shard_group_size(layout);
}

// ZeRO-3 gathers one layer (or the embedding) while the next is prefetched, and reduces the whole
// gradient of one (arXiv 1910.02054, section 7.2; DeepSpeed and FSDP wrap by layer).
Bytes zero_3_buffers(const Model& model, const Job& job, const Layout& layout, const Stage& stage,
                     std::int64_t vocab_rows) {
  if (layout.zero_stage < 3 || gradient_group_size(layout) == 1) return {};
  double largest = 0.0;
  for (const Chunk& chunk : stage.chunks) {
    if (chunk.embedding || chunk.head) {
      largest = std::max(largest, double(vocab_rows) * model.hidden_size);
    }
    for (int i = 0; i < chunk.num_layers; ++i) {
      StageParameters unit;
      add_layer(unit, layer_parameters(model, layer_kind(model, chunk.first_layer + i)), layout);
      largest = std::max(largest, unit.dense + unit.expert);
    }
  }
  return bytes(largest *
               (2.0 * weight_bytes(job.precision) + bytes_per_element(job.gradient_precision)));
}

// The tensors that arrive from both neighbours, each kept apart from the ones being worked on.
Bytes pipeline_buffers(const Model& model, const Job& job, const Layout& layout) {
  if (layout.pipeline_parallel_size == 1) return {};
  return 2.0 * layer_input_bytes(model, job, layout);
}

// The whole sequence that Megatron-LM gathers in front of a column-parallel linear, in its one
// global memory buffer.
Bytes sequence_gather_buffer(const Model& model, const Job& job, const Layout& layout) {
  if (!layout.sequence_parallel || layout.tensor_parallel_size == 1) return {};
  return layer_input_bytes(model, job, layout) * layout.tensor_parallel_size;
}

std::int64_t local_vocab_rows(const Model& model, const Job& job, const Layout& layout) {
  return padded_vocab_size(model, job.make_vocab_size_divisible_by, layout.tensor_parallel_size) /
         layout.tensor_parallel_size;
}

}  // namespace

StageParameters stage_parameters(const Model& model, const Job& job, const Layout& layout,
                                 const Stage& stage) {
  const std::int64_t vocab_rows = local_vocab_rows(model, job, layout);
  StageParameters sum;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      add_layer(sum, layer_parameters(model, layer_kind(model, chunk.first_layer + i)), layout);
    }
    if (chunk.embedding) sum.dense += static_cast<double>(embedding_parameters(model, vocab_rows));
    if (chunk.head) add_head(sum, model, layout, vocab_rows, holds_embedding(stage));
  }
  return sum;
}

StageMemory model_state_memory(const StageParameters& parameters, const Job& job,
                               const Layout& layout) {
  StageMemory memory;
  memory.weights = bytes(sharded(parameters, layout, 3) * weight_bytes(job.precision));
  memory.gradients =
      bytes(sharded(parameters, layout, 2) * bytes_per_element(job.gradient_precision));
  if (!layout.optimizer_offload) {
    memory.optimizer = bytes(sharded(parameters, layout, 1) * optimizer_bytes(job));
  }
  return memory;
}

double activations_in_flight(const Layout& layout, int num_micro_batches, int stage) {
  return closed_form_peak_activations(layout.schedule, layout.pipeline_parallel_size,
                                      layout.virtual_pipeline_parallel_size, num_micro_batches,
                                      stage);
}

StageMemory stage_memory(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, int stage_index) {
  StageMemory memory = model_state_memory(stage_parameters(model, job, layout, stage), job, layout);
  const int micro_batches = num_micro_batches(job.global_batch_size, layout);
  const double in_flight = activations_in_flight(layout, micro_batches, stage_index) /
                           static_cast<double>(stage.chunks.size());
  memory.activations = in_flight * stage_activation_bytes(model, job, layout, stage) +
                       offload_reload_bytes(model, job, layout, stage);
  memory.recompute_workspace = recompute_workspace_bytes(model, job, layout, stage);
  // Forward and backward of the head follow each other in every schedule but GPipe.
  const int logits = layout.schedule == PipelineSchedule::gpipe ? micro_batches : 1;
  memory.logits = logits * logits_bytes(model, job, layout, stage);
  memory.communication_buffers =
      zero_3_buffers(model, job, layout, stage, local_vocab_rows(model, job, layout)) +
      pipeline_buffers(model, job, layout) + sequence_gather_buffer(model, job, layout) +
      expert_dispatch_bytes(model, job, layout, stage);
  return memory;
}

// SimuMax's 22 published Megatron runs on B200 (docs/b200, release 1.2) set 1.056 to 1.063 bytes of
// reserved memory, median 1.060, against each byte allocated at the peak: of a full device 6 % stay
// for fragmentation, context and libraries. It is an allowance, not a model of any one of them.
Bytes allocator_reserve(const Device& device, const Layout& /*layout*/) {
  constexpr double kReservedFraction = 0.06;
  if (device.num_multiprocessors == 1) return {};
  return device.memory * kReservedFraction;
}

}  // namespace meshwright
