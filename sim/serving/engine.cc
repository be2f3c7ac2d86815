// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/engine.h"

#include <algorithm>

#include "sim/hardware/device.h"

namespace meshwright {
namespace {

const EngineTier* tier_on(const Engine& engine, const Device& device) {
  const EngineTier* found = nullptr;
  for (const EngineTier& tier : engine.tiers) {
    const bool excepted =
        !tier.except_architecture.empty() && tier.except_architecture == device.architecture;
    if (device.memory >= tier.memory && !excepted) found = &tier;
  }
  return found;
}

}  // namespace

int graph_max_batch(const Engine& engine, const Device& device, const ReplicaOptions& options) {
  const EngineTier* tier = tier_on(engine, device);
  int most = engine.graph_max_batch;
  if (tier != nullptr && tier->graph_max_batch > 0) most = tier->graph_max_batch;
  if (options.max_num_seqs == 0) return most;
  const int drafts = 1 + options.num_speculative_tokens;
  // vLLM config/vllm.py: twice the sequences, at most.
  return engine.kind == EngineKind::vllm ? std::min(most, 2 * options.max_num_seqs * drafts) : most;
}

Engine with_step_factor(Engine engine, double factor) {
  engine.time_factor *= factor;
  engine.prefill_factor *= factor;
  for (Seconds* time : {&engine.host.step, &engine.host.sequence, &engine.host.prompt_token,
                        &engine.host.layer, &engine.host.expert_layer}) {
    *time *= factor;
  }
  return engine;
}

ReplicaOptions with_defaults(ReplicaOptions options, const Engine& engine, const Device& device,
                             const Model& model) {
  const EngineTier* tier = tier_on(engine, device);
  if (tier != nullptr) {
    if (options.max_num_batched_tokens == 0) {
      options.max_num_batched_tokens = tier->max_num_batched_tokens;
    }
    if (options.max_num_seqs == 0) {
      options.max_num_seqs = tier->max_num_seqs;
      // vLLM engine/arg_utils.py cuts its default to the tokens of a step.
      if (engine.kind == EngineKind::vllm) {
        options.max_num_seqs = std::min(options.max_num_seqs, options.max_num_batched_tokens);
      }
    }
  }
  if (options.block_size == 0) {
    options.block_size = model.mla ? engine.latent_block_size : engine.block_size;
  }
  const int positions = model.max_position_embeddings;
  // TensorRT-LLM warns of a length beyond the model's positions, and takes these.
  const bool cut = engine.kind == EngineKind::tensorrt_llm && positions > 0;
  if (options.max_model_len == 0 || (cut && options.max_model_len > positions)) {
    options.max_model_len = positions;
  }
  if (options.exchange == ExpertExchange::automatic) {
    options.exchange =
        options.layout.data_parallel_size > 1 ? engine.exchange : ExpertExchange::all_reduce;
  }
  return options;
}

int next_graph_size(int rows, const std::vector<GraphRange>& graphs, int graph_max_batch) {
  if (rows > graph_max_batch) return rows;
  int best = graph_max_batch;
  for (const GraphRange& range : graphs) {
    if (rows > std::min(range.last, graph_max_batch)) continue;
    const int steps = std::max(0, (rows - range.first + range.step - 1) / range.step);
    best = std::min(best, range.first + steps * range.step);
  }
  return std::max(best, rows);
}

}  // namespace meshwright
