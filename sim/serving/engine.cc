// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/engine.h"

#include <algorithm>

#include "sim/base/text.h"
#include "sim/hardware/device.h"
#include "sim/serving/memory.h"

namespace meshwright {
namespace {

const EngineTier* tier_on(const Engine& engine, const Device& device) {
  const EngineTier* found = nullptr;
  for (const EngineTier& tier : engine.tiers) {
    const bool excepted = !tier.except_name.empty() &&
                          lower_case(device.name).find(tier.except_name) != std::string::npos;
    const bool other = !tier.architecture.empty() && tier.architecture != device.architecture;
    if (device.memory >= tier.memory && !excepted && !other) found = &tier;
  }
  return found;
}

int default_block(const Engine& engine, const Device& device, const Model& model,
                  const ReplicaOptions& options) {
  if (!model.mla) return engine.block_size;
  // vLLM attends to a 16-bit latent with FLASH_ATTN_MLA there, to others with FlashMLA.
  const bool dense = model.mla->dsa_indexer_n_heads == 0 && options.kv_cache == KvCacheFormat::bf16;
  const bool own = engine.hopper_latent_block_size > 0 && device.architecture == "hopper";
  return own && dense ? engine.hopper_latent_block_size : engine.latent_block_size;
}

// SGLang model_runner.py: 512 times the longest requests that the cache holds, at most half its
// tokens.
int default_sequences(const Engine& engine, const Device& device, const Model& model,
                      const ReplicaOptions& options, int most) {
  if (options.num_speculative_tokens > 0 && engine.draft_sequences > 0) {
    return engine.draft_sequences;
  }
  if (engine.sequences_of_length == 0 || options.max_model_len == 0) return most;
  const double tokens = replica_memory(model, device, engine, options).kv_tokens;
  const double wanted = tokens / options.max_model_len * engine.sequences_of_length;
  const double held =
      std::min(std::clamp<double>(wanted, engine.least_sequences, most), tokens / 2);
  return std::max(1, static_cast<int>(held));
}

}  // namespace

int graph_max_batch(const Engine& engine, const Device& device, const ReplicaOptions& options) {
  const EngineTier* tier = tier_on(engine, device);
  int most = engine.graph_max_batch;
  if (tier != nullptr && tier->graph_max_batch > 0) {
    const ReplicaLayout& l = options.layout;
    const bool grouped = l.tensor_parallel_size * l.data_parallel_size >= 4;
    most = grouped && tier->graph_max_batch_grouped > 0 ? tier->graph_max_batch_grouped
                                                        : tier->graph_max_batch;
  }
  const int rows = 1 + options.num_speculative_tokens;
  const bool by_drafts = rows > 1 && options.max_num_seqs == engine.draft_sequences;
  if (engine.graph_sequences == 0 || options.max_num_seqs == 0 || by_drafts) return most;
  most = std::min(most, engine.graph_sequences * options.max_num_seqs * rows);
  return options.max_num_batched_tokens > 0 ? std::min(most, options.max_num_batched_tokens) : most;
}

int captured_sizes(const std::vector<GraphRange>& graphs, int graph_max_batch) {
  int sizes = 0;
  for (const GraphRange& range : graphs) {
    const int last = std::min(range.last, graph_max_batch);
    if (last >= range.first) sizes += (last - range.first) / range.step + 1;
  }
  return sizes;
}

int step_tokens(const Engine& engine, const ReplicaOptions& options) {
  const int ranks = engine.shares_chunk ? options.layout.data_parallel_size : 1;
  return std::max(1, options.max_num_batched_tokens / ranks);
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
  const int positions = model.max_position_embeddings;
  // TensorRT-LLM warns of a length beyond the model's positions, and takes these.
  const bool cut = engine.kind == EngineKind::tensorrt_llm && positions > 0;
  if (options.max_model_len == 0 || (cut && options.max_model_len > positions)) {
    options.max_model_len = positions;
  }
  if (options.block_size == 0) options.block_size = default_block(engine, device, model, options);
  if (tier != nullptr) {
    const int factor = options.throughput_mode ? engine.throughput_factor : 1;
    if (options.max_num_batched_tokens == 0) {
      options.max_num_batched_tokens = tier->max_num_batched_tokens * factor;
    }
    if (options.max_num_seqs == 0) {
      options.max_num_seqs =
          default_sequences(engine, device, model, options, tier->max_num_seqs * factor);
      // vLLM engine/arg_utils.py cuts its default to the tokens of a step.
      if (engine.kind == EngineKind::vllm) {
        options.max_num_seqs = std::min(options.max_num_seqs, options.max_num_batched_tokens);
      }
    }
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
