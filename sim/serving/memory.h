// SPDX-License-Identifier: Apache-2.0
// What a replica leaves for the key-value cache, and how many requests that admits.
//
//   of_device      cache = M * fraction - weights - activations - outside - graphs   (vLLM)
//   static_memory  cache = (M - outside) * fraction - weights - outside              (SGLang)
//   of_free        cache = (M - weights - activations - outside) * fraction          (TensorRT-LLM)
// M: memory that CUDA offers. Sources: vLLM v1/worker/gpu_worker.py; SGLang model_runner.py
// (rest = free after loading - free before * (1 - fraction)); TensorRT-LLM executor's
// free_gpu_memory_fraction. Bytes are those of the fullest rank. Cores hold a 16-bit model in fp32.
#pragma once

#include "sim/hardware/device.h"
#include "sim/serving/engine.h"
#include "sim/serving/kv_cache.h"
#include "sim/serving/weights.h"

namespace meshwright {

struct ReplicaMemory {
  Bytes device{};  // that CUDA offers
  double fraction = 0.0;
  ReplicaWeights weights{};
  Bytes activations{};
  Bytes outside{};  // CUDA's context, NCCL
  Bytes graphs{};
  Bytes unused{};    // that the fraction leaves free beside these
  Bytes kv_cache{};  // 0: weights and the rest take all
  SequenceCache sequence{};
  double kv_blocks = 0;  // of one attention group
  double kv_tokens = 0;  // that they hold
  // Requests of one attention group that the engine finds room for before it starts.
  [[nodiscard]] double reserved_requests(double tokens) const;
  // Requests of one attention group with so many tokens each.
  [[nodiscard]] double requests_of(double tokens) const;
  // Tokens of the longest request that the cache holds, in whole blocks.
  [[nodiscard]] double longest_request() const;
};

// What the engine's rule divides: cache = (budget - beside) * share.
struct CacheRoom {
  Bytes budget{}, beside{};
  double share = 1.0;
};
CacheRoom cache_room(const ReplicaMemory& memory, MemoryRule rule);

// SGLang server_args.py (0.5.16 to 0.5.23): (M - reserved) / M in thousandths, reserved MiB = 512 +
// 1.5 * chunked prefill + tp * pp / 8 * 1,024 + 2 * largest graph (attention data ranks: 3 * that *
// dp, and half more above 300) + graphs of prompts, 10 GiB at least on devices above 60 GiB, and
// DeepEP's buffers on top. A model with an image encoder gets 0.76 to 0.998 of it.
double static_memory_fraction(const Model& model, const Device& device, const Engine& engine,
                              const ReplicaOptions& options);

// Peak of activations of one rank, of so many bytes a number.
Bytes peak_activations(const Model& model, const Engine& engine, const ReplicaOptions& options,
                       double number_bytes = 2.0);

// Blocks and tokens of a cache of so many bytes.
void set_cache(ReplicaMemory& memory, Bytes kv_cache, const ReplicaOptions& options);

// Options with defaults (with_defaults).
ReplicaMemory replica_memory(const Model& model, const Device& device, const Engine& engine,
                             const ReplicaOptions& options);

// Requests that run together, in steady state, with prompts of `input` and answers of `output`
// tokens: what is reserved for each by the engine's rule, at most max_num_seqs, in each of the data
// ranks. A request that waits for its turn is not counted.
//   no_evict          blocks of input + output
//   others            blocks of input + output / 2, the mean of requests at random places
double admitted_requests(const ReplicaMemory& memory, const Engine& engine,
                         const ReplicaOptions& options, double input, double output);

}  // namespace meshwright
