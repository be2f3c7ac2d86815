// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/memory.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/cache_groups.h"
#include "sim/serving/operator_time.h"

namespace meshwright {
namespace {

constexpr Bytes kLeastReserve = gibibytes(10);  // on large devices
constexpr double kLargeDataGraph = 300.0;       // sequences
constexpr double kLogitBytes = 4.0;             // bytes

// The widest rows between two layers: of the MLP, or of what goes to a token's experts.
double widest_rows(const Model& m, const ReplicaLayout& l) {
  double width = static_cast<double>(m.ffn_hidden_size) / l.tensor_parallel_size;
  if (!m.moe) return width;
  const double expert = static_cast<double>(m.moe->moe_ffn_hidden_size) / expert_tensor_size(l);
  return std::max(width, m.moe->moe_router_topk * expert);
}

bool is_cuda(const Device& device) { return !device.architecture.starts_with("cdna"); }

bool uses_deep_ep(const ReplicaOptions& options) {
  return options.exchange == ExpertExchange::deepep_low_latency ||
         options.exchange == ExpertExchange::deepep_high_throughput;
}

// SGLang captures prompts on CUDA, in one stage, without images.
bool has_prompt_graphs(const Model& m, const Device& device, const ReplicaOptions& options) {
  return is_cuda(device) && !options.enforce_eager && options.role != PoolRole::decode &&
         options.layout.pipeline_parallel_size == 1 && m.image_encoder_hidden_size == 0;
}

// SGLang server_args.py adjust_mem_fraction_for_vlm: 0.95, a tenth less for each further encoder of
// CLIP ViT-L's size (24 layers of 1,024), within 0.8 and 1.05.
double image_share(const Model& m) {
  if (m.image_encoder_hidden_size == 0) return 1.0;
  const double layers = m.image_encoder_num_layers > 0 ? m.image_encoder_num_layers : 24.0;
  const double width = m.image_encoder_hidden_size / 1024.0;
  const double times = layers / 24.0 * width * width;
  return 0.95 * std::clamp(1.0 - 0.1 * (times - 1.0), 0.8, 1.05);
}

// SGLang attends with aiter on AMD, with latent attention only where a rank has 16 or 128 heads,
// and not behind an indexer.
bool uses_aiter(const Model& m, const Device& device, const ReplicaLayout& l) {
  if (is_cuda(device)) return false;
  if (!m.mla) return true;
  const int heads = m.num_attention_heads / l.tensor_parallel_size;
  return m.mla->dsa_indexer_n_heads == 0 && (heads == 16 || heads == 128);
}

Bytes outside_of(const EngineMemory& memory, const ReplicaLayout& layout) {
  return num_gpus(layout) == 1 ? memory.outside_alone : memory.outside_grouped;
}

}  // namespace

double static_memory_fraction(const Model& m, const Device& device, const Engine& engine,
                              const ReplicaOptions& options) {
  const ReplicaLayout& l = options.layout;
  const StaticReserve& reserve = engine.memory.reserve;
  const bool decodes = options.role == PoolRole::decode;
  const double graph = graph_max_batch(engine, device, options), dp = l.data_parallel_size;
  const double chunk = decodes ? 0.0 : options.max_num_batched_tokens;
  const double data_graph = graph > kLargeDataGraph ? 4.5 : 3.0;
  Bytes free = mebibytes(512 + 1.5 * std::max<double>(chunk, reserve.least_tokens) +
                         128.0 * num_gpus(l) + (dp > 1 ? data_graph * graph * dp : 0.0));
  if (options.role != PoolRole::prefill && !options.enforce_eager) free += mebibytes(2.0 * graph);
  const bool prompts = has_prompt_graphs(m, device, options);
  if (prompts) {
    free += m.mla ? reserve.latent_prompt_graphs
                  : reserve.prompt_graph *
                        captured_sizes(reserve.prompt_graphs, options.max_num_batched_tokens);
  }
  if (device.memory > gibibytes(60)) free = std::max(free, kLeastReserve);
  if (options.num_speculative_tokens > 0) free += reserve.drafts;
  if (uses_deep_ep(options))
    free += reserve.deep_ep + (prompts ? reserve.deep_ep_prompts : Bytes{});
  const double share = std::max(0.0, 1.0 - free / device.memory);
  return std::round(share * 1000.0) / 1000.0 * (reserve.shrinks_for_images ? image_share(m) : 1.0);
}

Bytes peak_activations(const Model& m, const Engine& engine, const ReplicaOptions& options,
                       double number_bytes) {
  const EngineMemory& memory = engine.memory;
  const double layers =
      step_tokens(engine, options) * number_bytes *
      (memory.hidden_copies * m.hidden_size + memory.ffn_copies * widest_rows(m, options.layout));
  const double sampling = memory.sampling_copies * options.max_num_seqs *
                          static_cast<double>(served_vocab_size(m)) * kLogitBytes;
  return bytes(std::max(layers, sampling));
}

double ReplicaMemory::requests_of(double tokens) const {
  const Bytes one = sequence.bytes_of(tokens);
  return one.value() > 0.0 ? kv_cache / one : 0.0;
}

double ReplicaMemory::reserved_requests(double tokens) const {
  const CacheGroups& groups = sequence.groups;
  if (groups.count() == 0) return requests_of(tokens);
  const double blocks = groups.blocks_of(tokens, sequence.block_size);
  return blocks > 0.0 ? kv_blocks / blocks : 0.0;
}

double ReplicaMemory::longest_request() const {
  const int block = sequence.block_size;
  if (const CacheGroups& groups = sequence.groups; groups.count() > 0) {
    const double room = kv_blocks - groups.window * groups.window_blocks - groups.state_blocks;
    const double kept = in_blocks(groups.window_tokens, block) / block;
    double blocks = std::floor(room / (groups.full + groups.window));
    if (groups.window > 0 && blocks > kept) {
      blocks = groups.full > 0 ? std::floor((room - groups.window * kept) / groups.full) : 1e9;
    }
    return std::max(0.0, blocks) * block;
  }
  const Bytes every = sequence.full_token + sequence.window_token;
  const Bytes beside_states = std::max(bytes(0), kv_cache - sequence.state);
  double tokens = every.value() > 0.0 ? beside_states / every : 0.0;
  const double kept = in_blocks(sequence.window, block) + block;
  if (sequence.window > 0 && tokens > kept) {
    const Bytes left = beside_states - sequence.window_token * kept;
    tokens = sequence.full_token.value() > 0.0 ? left / sequence.full_token : 1e9;
  }
  return std::floor(tokens / block) * block;
}

CacheRoom cache_room(const ReplicaMemory& m, MemoryRule rule) {
  const Bytes all = m.weights.total() + m.activations + m.outside + m.graphs;
  switch (rule) {
    case MemoryRule::of_device:
      return {m.device * m.fraction, all, 1.0};
    case MemoryRule::static_memory:
      return {(m.device - m.outside) * m.fraction, m.weights.total() + m.outside, 1.0};
    case MemoryRule::of_free:
      break;
  }
  return {m.device, all, m.fraction};
}

void set_cache(ReplicaMemory& memory, Bytes kv_cache, const ReplicaOptions& options) {
  memory.kv_cache = kv_cache;
  const SequenceCache& sequence = memory.sequence;
  // With windows or states, engines print how many requests of the longest context fit, times its
  // length; those with groups of layers always do.
  const double longest = std::max(1, options.max_model_len);
  if (sequence.groups.count() > 0) {
    memory.kv_blocks = std::floor(kv_cache / sequence.groups.block);
    memory.kv_tokens = std::floor(memory.reserved_requests(longest) * longest);
    return;
  }
  double tokens = sequence.full_token.value() > 0.0 ? kv_cache / sequence.full_token : 0.0;
  if (sequence.window > 0 || sequence.state > bytes(0)) {
    tokens = memory.requests_of(longest) * longest;
  }
  memory.kv_blocks = std::floor(tokens / options.block_size);
  memory.kv_tokens = memory.kv_blocks * options.block_size;
}

ReplicaMemory replica_memory(const Model& m, const Device& device, const Engine& engine,
                             const ReplicaOptions& options) {
  ReplicaMemory found;
  found.device = device.memory;
  ReplicaOptions padded = options;
  if (options.weights.format == WeightFormat::mxfp4) {
    padded.weights.hidden_multiple = engine.mxfp4_hidden_multiple;
    padded.weights.ffn_multiple = engine.mxfp4_ffn_multiple;
  }
  found.weights = replica_weights(m, padded);
  // A 16-bit model runs on cores in fp32: all of it is twice as large.
  const double number = served_bytes(device), wider = number / 2.0;
  if (options.weights.format == WeightFormat::bf16) found.weights.widen(wider);
  found.activations = peak_activations(m, engine, options, number);
  found.outside = outside_of(engine.memory, options.layout);
  found.graphs = options.enforce_eager ? bytes(0) : engine.memory.graphs;
  if (engine.memory.graphs_of > 0) {
    const int most = graph_max_batch(engine, device, options);
    found.graphs *= 1.0 * captured_sizes(engine.graphs, most) / engine.memory.graphs_of;
  }
  found.fraction = options.memory_fraction.value_or(
      engine.memory.fraction > 0.0 ? engine.memory.fraction
                                   : static_memory_fraction(m, device, engine, options));
  if (options.max_model_len > 8192 && uses_aiter(m, device, options.layout)) {
    found.fraction *= engine.memory.reserve.aiter_share;
  }
  const Bytes weights = found.weights.total();
  const Bytes others = found.activations + found.outside + found.graphs;
  const CacheRoom room = cache_room(found, engine.memory.rule);
  found.sequence = sequence_cache(m, options, options.block_size);
  if (options.kv_cache == KvCacheFormat::bf16) found.sequence.widen(wider);
  found.sequence = in_groups(found.sequence, m, engine, options);
  Bytes cache = std::max(bytes(0), (room.budget - room.beside) * room.share);
  if (options.max_cache_tokens > 0) {
    const Bytes token = found.sequence.full_token + found.sequence.window_token;
    cache = std::min(cache, token * options.max_cache_tokens);
  }
  set_cache(found, cache, options);
  found.unused = std::max(bytes(0), device.memory - weights - others - found.kv_cache);
  return found;
}

double admitted_requests(const ReplicaMemory& memory, const Engine& engine,
                         const ReplicaOptions& options, double input, double output) {
  const double drafts = options.num_speculative_tokens;
  const double share = engine.full_cache == FullCache::no_evict ? 1.0 : 0.5;
  const double reserved = input + share * output + drafts;
  double each = std::floor(memory.requests_of(reserved));
  if (options.max_num_seqs > 0) each = std::min<double>(each, options.max_num_seqs);
  return each * options.layout.data_parallel_size;
}

}  // namespace meshwright
