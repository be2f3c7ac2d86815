// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/base/narrow_format.h"
#include "sim/layout/pipeline_shape.h"
#include "sim/model/parameters.h"
#include "sim/operators/operators.h"

namespace meshwright {
namespace {

void add_layer(StageParameters& sum, const LayerParameters& layer, const Layout& layout) {
  const double experts = double(layout.expert_parallel_size) * expert_tensor_size(layout);
  sum.dense += static_cast<double>(layer.sharded) / layout.tensor_parallel_size +
               static_cast<double>(layer.replicated);
  sum.expert += static_cast<double>(layer.expert) / experts;
}

// The copy of the token embedding that a tied head or multi-token prediction needs on a stage
// without it (Megatron-LM, LanguageModule: the copies' gradients are all-reduced over the embedding
// group).
double embedding_copy(const Model& model, const Stage& stage, std::int64_t vocab_rows) {
  if (stage.has_embedding() || model.vocab_size == 0) return 0.0;
  if (model.mtp_num_layers > 0 && stage.has_mtp()) {
    return static_cast<double>(embedding_parameters(model, vocab_rows));
  }
  const bool tied = model.tied_embeddings && stage.has_head();
  return tied ? static_cast<double>(vocab_rows) * model.hidden_size : 0.0;
}

// Bytes of optimizer state per parameter.
double optimizer_bytes(const Job& job) {
  double state = moment_bytes(job);
  if (has_master_weights(job.precision)) state += 4.0;
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

// PyTorch's DistributedDataParallel holds the gradients once more, in the weights' format, in the
// buckets that it reduces (nn/parallel/distributed.py); Megatron-LM reduces the main gradients.
Bytes bucket_bytes(const StageParameters& parameters, const Numerics& numerics,
                   const Layout& layout) {
  if (gradient_group_size(layout) == 1 || layout.zero_stage > 1) return {};
  return bytes((parameters.dense + parameters.expert) * weight_bytes(numerics.precision));
}

// With overlapped messages the next input and the next gradient arrive while others are worked on.
// Without, the stage waits: what arrives is the chunk's input, or the gradient that it starts from.
Bytes pipeline_buffers(const UnitBytes& units, const Layout& layout) {
  if (layout.pipeline_parallel_size == 1 || !layout.overlap_p2p_comm) return {};
  return 2.0 * units.input;
}

// The whole sequence that Megatron-LM gathers in front of a column-parallel linear, in its one
// global memory buffer.
Bytes sequence_gather_buffer(const UnitBytes& units, const Layout& layout) {
  if (!layout.sequence_parallel || layout.tensor_parallel_size == 1) return {};
  return units.input * layout.tensor_parallel_size;
}

std::int64_t local_vocab_rows(const Model& model, const Numerics& numerics, const Layout& layout) {
  return padded_vocab_size(model, numerics.make_vocab_size_divisible_by,
                           layout.tensor_parallel_size) /
         layout.tensor_parallel_size;
}

const Workspace& workspace_of(const RunningPass& running, const std::vector<ChunkMemory>& chunks) {
  const ChunkMemory& chunk = chunks[static_cast<std::size_t>(running.chunk)];
  if (running.pass == Pass::forward) return chunk.forward;
  return running.pass == Pass::backward_weight ? chunk.weight : chunk.backward;
}

// Passes that take turns: the running one's logits are gone, or not there yet, while the other has
// a layer.
struct InTurns {
  Bytes layer, logits;
};
InTurns in_turns(const InFlightState& state, const std::vector<ChunkMemory>& chunks) {
  if (!state.in_turns) return {};
  return {chunks[static_cast<std::size_t>(state.beside->chunk)].layer,
          chunks[static_cast<std::size_t>(state.running.chunk)].held.logits +
              workspace_of(state.running, chunks).logits};
}

// Two passes at once need the workspaces of both; in turns, one at a time.
bool works_beside(const InFlightState& state) { return state.beside && !state.in_turns; }

void add_workspace(StageMemory& memory, const Workspace& needed) {
  memory.activations += needed.activations;
  memory.recompute_workspace += needed.recompute;
  memory.operator_workspace += needed.operators;
  memory.logits += needed.logits;
}

// memory_at(), summed: a peak is looked for among many states.
Bytes total_at(const InFlightState& state, const std::vector<ChunkMemory>& chunks) {
  Bytes total = workspace_of(state.running, chunks).total();
  if (works_beside(state)) total += workspace_of(*state.beside, chunks).total();
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const HeldBytes& one = chunks[c].held;
    total += double(state.held[c].whole) * (one.whole + one.logits);
    total += double(state.held[c].weight_only) * (one.weight_only + one.weight_only_logits);
  }
  const InTurns turns = in_turns(state, chunks);
  return total + std::max(Bytes{}, turns.layer - turns.logits);
}

StageMemory in_whole_bytes(StageMemory memory) {
  for (Bytes* part : {&memory.weights, &memory.gradients, &memory.optimizer, &memory.activations,
                      &memory.recompute_workspace, &memory.operator_workspace, &memory.logits,
                      &memory.communication_buffers}) {
    *part = bytes(std::ceil(part->value()));
  }
  return memory;
}

// Parameters of layers, counted once for each kind.
class LayersByKind {
 public:
  explicit LayersByKind(const Model& model) : model_(model) {}

  const LayerParameters& parameters(int layer) {
    const LayerKind kind = layer_kind(model_, layer);
    std::optional<LayerParameters>& known = known_[kind_index(kind)];
    if (!known) known = layer_parameters(model_, kind);
    return *known;
  }

 private:
  const Model& model_;
  std::array<std::optional<LayerParameters>, kLayerKinds> known_;
};

// PyTorch FSDP keeps parameters, gradients and moments in fp32 shards: 16 bytes a parameter with
// Adam. Whole beside them: below a pipeline the gathered parameters, and gradients that add up over
// micro-batches, in the format that they are reduced in. The optimizer leaves no gradients
// (zero_grad), and a unit's shard comes when its whole gradient goes: the larger of both counts
// (_fsdp_param_group.py, post_backward; _fsdp_param.py, to_accumulated_grad_if_needed).
StageMemory fsdp_state_memory(const StageParameters& parameters, const Job& job,
                              const Layout& layout) {
  constexpr double kMaster = 4.0;
  const double whole = parameters.dense + parameters.expert;
  const double shard = sharded(parameters, layout, 1);
  StageMemory memory;
  memory.weights = bytes(shard * kMaster);
  memory.gradients = bytes(shard * kMaster);
  if (fsdp_below_pipeline(layout)) memory.weights += bytes(whole * weight_bytes(job.precision));
  if (fsdp_reduces_once(layout)) {
    const Bytes summed = bytes(whole * bytes_per_element(job.gradient_precision));
    memory.gradients = std::max(memory.gradients, summed);
  }
  if (!layout.optimizer_offload) memory.optimizer = bytes(shard * moment_bytes(job));
  return memory;
}

// Parameters of a stage's largest layer.
double largest_layer(const Model& model, const Layout& layout, const Stage& stage) {
  LayersByKind layers(model);
  double largest = 0.0;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      StageParameters unit;
      add_layer(unit, layers.parameters(chunk.first_layer + i), layout);
      largest = std::max(largest, unit.dense + unit.expert);
    }
  }
  return largest;
}

// Of FSDP in backward: the unit at work and its gradient, the next one's gathered parameters, and
// the input of one reduce-scatter (_fsdp_param_group.py); the root stays gathered. Reduced once, a
// unit's input takes the place of its whole gradient, which counts with the states. Below a
// pipeline only the reduction's input: what else is whole counts with the states.
Bytes fsdp_buffers(const Model& model, const Job& job, const Layout& layout, const Stage& stage) {
  const double weight = weight_bytes(job.precision);
  const double gradient = bytes_per_element(job.gradient_precision);
  const StageParameters all = stage_parameters(model, job, layout, stage);
  const bool whole = layout.fsdp_unit == FsdpUnit::whole;
  double unit = whole ? all.dense + all.expert : largest_layer(model, layout, stage);
  if (layout.fsdp_unit == FsdpUnit::module) {
    unit = static_cast<double>(model.hidden_size) * model.ffn_hidden_size /
           layout.tensor_parallel_size;
  }
  if (fsdp_below_pipeline(layout)) return bytes(unit * gradient);
  const double reduced = fsdp_reduces_once(layout) ? 0.0 : gradient;
  if (whole) return bytes(unit * std::max(2.0 * weight + reduced, gradient));
  Stage root = stage;
  for (Chunk& chunk : root.chunks) chunk.num_layers = 0;
  return bytes(unit * std::max(3.0 * weight + reduced, weight + gradient) +
               stage_parameters(model, job, layout, root).dense * weight);
}

}  // namespace

StageParameters stage_parameters(const Model& model, const Numerics& numerics, const Layout& layout,
                                 const Stage& stage) {
  const std::int64_t vocab_rows = local_vocab_rows(model, numerics, layout);
  LayersByKind layers(model);
  StageParameters sum;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      add_layer(sum, layers.parameters(chunk.first_layer + i), layout);
    }
    if (chunk.embedding) sum.dense += static_cast<double>(embedding_parameters(model, vocab_rows));
    const auto norm = static_cast<double>(head_parameters(model, 0));
    if (has_final_norm(model, chunk)) sum.dense += norm;
    if (chunk.head) sum.dense += static_cast<double>(head_parameters(model, vocab_rows)) - norm;
    for (int i = 0; chunk.mtp && i < model.mtp_num_layers; ++i) {
      add_layer(sum, mtp_layer_parameters(model), layout);
    }
  }
  sum.dense += embedding_copy(model, stage, vocab_rows);
  return sum;
}

Bytes weight_memory(const StageParameters& parameters, const Numerics& numerics,
                    const Layout& layout) {
  return bytes(sharded(parameters, layout, 3) * weight_bytes(numerics.precision));
}

StageMemory model_state_memory(const StageParameters& parameters, const TrainingJob& job,
                               const Layout& layout) {
  if (uses_fsdp(layout)) return fsdp_state_memory(parameters, job, layout);
  StageMemory memory;
  memory.weights = weight_memory(parameters, job, layout);
  memory.gradients =
      bytes(sharded(parameters, layout, 2) * bytes_per_element(job.gradient_precision));
  if (job.kernel_fusion == KernelFusion::eager)
    memory.gradients += bucket_bytes(parameters, job, layout);
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
  double largest = largest_layer(model, layout, stage);
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
  StageParameters found;
  if (!is_narrow(numerics.precision)) return found;
  // Weights have the same shape however many tokens they meet.
  const std::int64_t any = layout.tensor_parallel_size;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      const LayerKind kind = layer_kind(model, chunk.first_layer + i);
      for (const Operator& op : layer_operators(model, kind, numerics, {1, any, any}, layout)) {
        if (!op.has_weight || compute_precision(op, numerics.precision) != numerics.precision)
          continue;
        const double elements =
            static_cast<double>(op.batch) * static_cast<double>(op.k) * static_cast<double>(op.n);
        (op.of_expert ? found.expert : found.dense) += elements;
      }
    }
  }
  return found;
}

Bytes fp8_weights(const Model& model, const Numerics& numerics, const Layout& layout,
                  const Stage& stage) {
  if (layout.zero_stage == 3 || uses_fsdp(layout)) return {};
  const StageParameters parameters = fp8_parameters(model, numerics, layout, stage);
  const double instead =
      gathers_fp8_params(numerics, layout) ? weight_bytes(numerics.precision) : 0.0;
  return bytes((parameters.dense + parameters.expert) *
               (operand_copies(numerics) * operand_bytes(numerics) - instead));
}

ChunkGroups chunk_groups(const Model& model, const Layout& layout, const Stage& stage) {
  ChunkGroups found;
  for (std::size_t c = 0; c < stage.chunks.size(); ++c) {
    const Chunk& chunk = stage.chunks[c];
    std::vector<LayerRun> layers = chunk_layers(model, layout, stage, c);
    if (c > 0) {
      const ChunkGroup& before = found.groups.back();
      if (chunk.embedding == before.chunk.embedding && chunk.head == before.chunk.head &&
          chunk.mtp == before.chunk.mtp && layers == before.layers) {
        ++found.sizes.back();
        continue;
      }
    }
    found.groups.push_back({chunk, std::move(layers)});
    found.sizes.push_back(1);
  }
  return found;
}

ChunkMemory chunk_memory(const UnitBytes& units, const Layout& layout, const ChunkGroup& group) {
  const Chunk layers{.num_layers = group.chunk.num_layers};
  return {chunk_activations(units, group.layers, group.chunk),
          forward_workspace(units, group.chunk),
          backward_workspace(units, layout, group.layers, group.chunk),
          weight_workspace(units, group.chunk),
          chunk_activations(units, group.layers, layers).whole / std::max(1, layers.num_layers)};
}

std::vector<ChunkMemory> chunk_memories(const UnitBytes& units, const Layout& layout,
                                        const ChunkGroups& groups) {
  std::vector<ChunkMemory> chunks;
  for (std::size_t g = 0; g < groups.sizes.size(); ++g) {
    chunks.insert(chunks.end(), static_cast<std::size_t>(groups.sizes[g]),
                  chunk_memory(units, layout, groups.groups[g]));
  }
  return chunks;
}

StageMemory held_memory(const std::vector<HeldMicroBatches>& held,
                        const std::vector<ChunkMemory>& chunks) {
  StageMemory memory;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const HeldBytes& one = chunks[c].held;
    const double whole = held[c].whole;
    const double weight_only = held[c].weight_only;
    memory.activations += whole * one.whole + weight_only * one.weight_only;
    memory.logits += whole * one.logits + weight_only * one.weight_only_logits;
  }
  return memory;
}

StageMemory memory_at(const InFlightState& state, const std::vector<ChunkMemory>& chunks) {
  StageMemory memory = held_memory(state.held, chunks);
  add_workspace(memory, workspace_of(state.running, chunks));
  if (works_beside(state)) add_workspace(memory, workspace_of(*state.beside, chunks));
  const InTurns turns = in_turns(state, chunks);
  if (turns.layer > turns.logits) {
    memory.activations += turns.layer;
    memory.logits -= turns.logits;
  }
  return memory;
}

StageMemory standing_memory(const UnitBytes& units, const Layout& layout, unsigned kinds) {
  StageMemory memory;
  memory.operator_workspace = units.placeholders[kinds];
  memory.communication_buffers = pipeline_buffers(units, layout) +
                                 sequence_gather_buffer(units, layout) +
                                 expert_dispatch_bytes(units, layout, kinds);
  return memory;
}

StageMemory static_memory(const Model& model, const Job& job, const Layout& layout,
                          const Stage& stage) {
  StageMemory memory = model_state_memory(stage_parameters(model, job, layout, stage), job, layout);
  memory.weights += fp8_weights(model, job, layout, stage);
  memory.communication_buffers = zero_3_buffers(model, job, layout, stage);
  return in_whole_bytes(memory);
}

StageMemory moving_memory(const StageMemory& standing, const std::vector<ChunkMemory>& chunks,
                          const std::vector<InFlightState>& states) {
  const InFlightState* fullest = nullptr;
  Bytes most;
  for (const InFlightState& state : states) {
    const Bytes now = total_at(state, chunks);
    if (now > most) {
      most = now;
      fullest = &state;
    }
  }
  StageMemory peak;
  if (fullest != nullptr) peak = memory_at(*fullest, chunks);
  peak.operator_workspace += standing.operator_workspace;
  peak.communication_buffers += standing.communication_buffers;
  return in_whole_bytes(peak);
}

StageMemory moving_memory(const Model& model, const Job& job, const Layout& layout,
                          const Stage& stage, int stage_index) {
  const UnitBytes units = unit_bytes(model, job, layout);
  const auto states =
      in_flight_states(layout.schedule, pipeline_sizes(layout, job.global_batch_size), stage_index);
  return moving_memory(standing_memory(units, layout, kinds_of(model, stage)),
                       chunk_memories(units, layout, chunk_groups(model, layout, stage)), states);
}

StageMemory stage_memory(const StageMemory& fixed, StageMemory moving) {
  moving.weights = fixed.weights;
  moving.gradients = fixed.gradients;
  moving.optimizer = fixed.optimizer;
  moving.communication_buffers += fixed.communication_buffers;
  return moving;
}

StageMemory stage_memory(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, int stage_index) {
  return stage_memory(static_memory(model, job, layout, stage),
                      moving_memory(model, job, layout, stage, stage_index));
}

Bytes printed_peak(Bytes allocated, const MemoryFacts& facts, const Device& device) {
  if (!facts.reports_reserved) return allocated;
  return std::max(allocated, std::min(allocated * facts.reserved_ratio, device.memory));
}

Bytes outside_allocator(const Device& device, const Layout& layout) {
  const int groups =
      (layout.tensor_parallel_size > 1 ? 1 : 0) + (layout.pipeline_parallel_size > 1 ? 1 : 0) +
      (gradient_group_size(layout) > 1 ? 1 : 0) + (layout.context_parallel_size > 1 ? 1 : 0) +
      (layout.expert_parallel_size > 1 ? 1 : 0);
  return device.context_memory + device.communicator_memory * groups;
}

}  // namespace meshwright
