// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/memory.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/operator_time.h"

namespace meshwright {
namespace {

constexpr double kLeastReserveMib = 10.0 * 1024.0;  // MiB, on large devices
constexpr double kLogitBytes = 4.0;                 // bytes

// The widest rows between two layers: of the MLP, or of what goes to a token's experts.
double widest_rows(const Model& m, const ReplicaLayout& l) {
  double width = static_cast<double>(m.ffn_hidden_size) / l.tensor_parallel_size;
  if (!m.moe) return width;
  const double expert = static_cast<double>(m.moe->moe_ffn_hidden_size) / expert_tensor_size(l);
  return std::max(width, m.moe->moe_router_topk * expert);
}

Bytes outside_of(const EngineMemory& memory, const ReplicaLayout& layout) {
  return num_gpus(layout) == 1 ? memory.outside_alone : memory.outside_grouped;
}

}  // namespace

double static_memory_fraction(const Device& device, const ReplicaOptions& options,
                              int graph_max_batch) {
  const ReplicaLayout& l = options.layout;
  const double capacity = device.memory / mebibytes(1);
  const double dp = l.data_parallel_size;
  double reserved = 512.0 + 1.5 * options.max_num_batched_tokens + num_gpus(l) / 8.0 * 1024.0 +
                    2.0 * graph_max_batch;
  if (dp > 1)
    reserved +=
        3.0 * graph_max_batch * dp + (graph_max_batch > 300 ? 1.5 * graph_max_batch * dp : 0.0);
  if (capacity > 60.0 * 1024.0) reserved = std::max(reserved, kLeastReserveMib);
  if (options.num_speculative_tokens > 0) reserved += 2.0 * 1024.0;
  return std::max(0.0, (capacity - reserved) / capacity);
}

Bytes peak_activations(const Model& m, const Engine& engine, const ReplicaOptions& options,
                       double number_bytes) {
  const EngineMemory& memory = engine.memory;
  const double layers =
      options.max_num_batched_tokens * number_bytes *
      (memory.hidden_copies * m.hidden_size + memory.ffn_copies * widest_rows(m, options.layout));
  const double sampling = memory.sampling_copies * options.max_num_seqs *
                          static_cast<double>(served_vocab_size(m)) * kLogitBytes;
  return bytes(std::max(layers, sampling));
}

double ReplicaMemory::requests_of(double tokens) const {
  const Bytes one = sequence.bytes_of(tokens);
  return one.value() > 0.0 ? kv_cache / one : 0.0;
}

double ReplicaMemory::longest_request() const {
  const int block = sequence.block_size;
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

ReplicaMemory replica_memory(const Model& m, const Device& device, const Engine& engine,
                             const ReplicaOptions& options) {
  ReplicaMemory found;
  found.device = device.memory;
  found.weights = replica_weights(m, options);
  // A 16-bit model runs on cores in fp32: all of it is twice as large.
  const double number = served_bytes(device), wider = number / 2.0;
  if (options.weights.format == WeightFormat::bf16) found.weights.widen(wider);
  found.activations = peak_activations(m, engine, options, number);
  found.outside = outside_of(engine.memory, options.layout);
  found.graphs = options.enforce_eager ? bytes(0) : engine.memory.graphs;
  const int graphs = graph_max_batch(engine, device, options);
  found.fraction = options.memory_fraction.value_or(
      engine.memory.fraction > 0.0 ? engine.memory.fraction
                                   : static_memory_fraction(device, options, graphs));
  const Bytes weights = found.weights.total();
  const Bytes others = found.activations + found.outside + found.graphs;
  const CacheRoom room = cache_room(found, engine.memory.rule);
  found.sequence = sequence_cache(m, options, options.block_size);
  if (options.kv_cache == KvCacheFormat::bf16) found.sequence.widen(wider);
  found.kv_cache = std::max(bytes(0), (room.budget - room.beside) * room.share);
  if (options.max_cache_tokens > 0) {
    const Bytes token = found.sequence.full_token + found.sequence.window_token;
    found.kv_cache = std::min(found.kv_cache, token * options.max_cache_tokens);
  }
  found.unused = std::max(bytes(0), device.memory - weights - others - found.kv_cache);
  // With windows or states, engines print how many requests of the longest context fit, times its
  // length.
  const double longest = std::max(1, options.max_model_len);
  if (found.sequence.window > 0 || found.sequence.state > bytes(0)) {
    found.kv_tokens = found.requests_of(longest) * longest;
  } else {
    const Bytes token = found.sequence.full_token;
    found.kv_tokens = token.value() > 0.0 ? found.kv_cache / token : 0.0;
  }
  found.kv_blocks = std::floor(found.kv_tokens / options.block_size);
  found.kv_tokens = found.kv_blocks * options.block_size;
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
