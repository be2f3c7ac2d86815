// SPDX-License-Identifier: Apache-2.0
// One replica of an inference engine: how its weights and cache are stored, how its GPUs share the
// work, and the limits that the engine runs under.
//
// Dense data parallelism is replicas beside each other, which exchange nothing; it stands outside.
// data_parallel_size here counts attention's ranks that step together because experts lie over all
// of them (vLLM --data-parallel-size with experts, SGLang --enable-dp-attention, TensorRT-LLM
// enable_attention_dp).
#pragma once

#include <array>
#include <optional>
#include <string>

#include "sim/base/serving_formats.h"
#include "sim/base/units.h"
#include "sim/block/part.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright {

struct WeightScheme {
  WeightFormat format = WeightFormat::bf16;
  int group_size = 128;      // int4: weights that share a scale
  bool zero_points = false;  // int4: each group has a 4-bit zero point, too
  unsigned quantized = kQuantizedLinears;
  // Experts are padded to multiples of these on each rank, by the engine's kernels
  // (replica_memory).
  int hidden_multiple = 1, ffn_multiple = 1;
  bool operator==(const WeightScheme&) const = default;
};

struct ReplicaLayout {
  int tensor_parallel_size = 1;          // ranks that share a sequence's heads
  int pipeline_parallel_size = 1;        // stages
  int data_parallel_size = 1;            // attention's groups of tensor ranks; experts lie over all
  int expert_parallel_size = 1;          // of tensor x data ranks; the rest cuts each expert
  int decode_context_parallel_size = 1;  // of the tensor ranks, those that share a context
  bool operator==(const ReplicaLayout&) const = default;
};
constexpr int num_gpus(const ReplicaLayout& l) {
  return l.tensor_parallel_size * l.pipeline_parallel_size * l.data_parallel_size;
}
// Ranks that each expert is cut over.
constexpr int expert_tensor_size(const ReplicaLayout& l) {
  return l.tensor_parallel_size * l.data_parallel_size / l.expert_parallel_size;
}
constexpr ExpertSharding expert_sharding(const ReplicaLayout& l) {
  if (expert_tensor_size(l) > 1) return ExpertSharding::tensor_parallel;
  return l.expert_parallel_size > 1 ? ExpertSharding::expert_parallel : ExpertSharding::none;
}
// The dense part as the layout that operators and placements are made from.
constexpr Layout dense_layout(const ReplicaLayout& l) {
  Layout layout{};
  layout.tensor_parallel_size = l.tensor_parallel_size;
  layout.pipeline_parallel_size = l.pipeline_parallel_size;
  layout.data_parallel_size = l.data_parallel_size;
  return layout;
}
// Layers of one pipeline stage: as many on each, and one more on the latest ones where the stages
// do not divide them. vLLM (distributed/utils.py get_pp_indices) gives the very last stage, which
// has the head, none of these; the memory rule here counts the last stage as the fullest.
struct StageLayers {
  int first = 0, count = 0;
  bool operator==(const StageLayers&) const = default;
};
constexpr StageLayers replica_stage_layers(int num_layers, int stages, int stage) {
  const int each = num_layers / stages, fuller = num_layers % stages;
  const int plain = stages - fuller;  // stages without one more
  const int more_before = stage > plain ? stage - plain : 0;
  return {stage * each + more_before, each + (stage >= plain ? 1 : 0)};
}
// "tp8", "tp4 dp2 ep8", "tp8 pp2"
std::string short_name(const ReplicaLayout& layout);

// How tokens reach experts on other ranks.
enum class ExpertExchange {
  automatic,                  // the engine's default
  all_reduce,                 // every rank has all tokens; outputs are summed
  all_gather_reduce_scatter,  // vLLM allgather_reducescatter
  deepep_low_latency,         // DeepEP, fixed buffers, a few hundred tokens a rank at most
  deepep_high_throughput,     // DeepEP normal mode
  nvlink_all_to_all  // TensorRT-LLM's kernels for whole experts in one NVLink domain; elsewhere
                     // its ranks gather
};
inline constexpr std::array kExpertExchangeNames{
    EnumName{ExpertExchange::automatic, "auto"},
    EnumName{ExpertExchange::all_reduce, "all_reduce"},
    EnumName{ExpertExchange::all_gather_reduce_scatter, "allgather_reducescatter"},
    EnumName{ExpertExchange::deepep_low_latency, "deepep_low_latency"},
    EnumName{ExpertExchange::deepep_high_throughput, "deepep_high_throughput"},
    EnumName{ExpertExchange::nvlink_all_to_all, "nvlink_all_to_all"}};
constexpr std::string_view name_of(ExpertExchange v) { return name_in(kExpertExchangeNames, v); }

// Engines may hold prompts back while others decode. TensorRT-LLM does so that more share a step
// (batch_wait_timeout_iters, batch_wait_max_tokens_ratio; attention_dp_config: timeout_iters,
// batching_wait_iters).
struct PromptWait {
  int iterations = 0;          // steps at most; 0: none are held
  double token_share = 0;      // of max_num_batched_tokens: rows of a step that end the wait
  int balance_iterations = 0;  // steps at most until every data rank has a prompt; 0: not waited
  int balance_batching = 0;    // steps from then on
  // Decode steps between two looks for new requests (SGLang --scheduler-recv-interval); 0: one. A
  // step with prompts and an idle engine look at once.
  int receive_interval = 0;
  bool operator==(const PromptWait&) const = default;
};

// What a pool's replicas do.
enum class PoolRole : std::uint8_t { aggregated, prefill, decode };
inline constexpr std::array kPoolRoleNames{EnumName{PoolRole::aggregated, "aggregated"},
                                           EnumName{PoolRole::prefill, "prefill"},
                                           EnumName{PoolRole::decode, "decode"}};
constexpr std::string_view name_of(PoolRole v) { return name_in(kPoolRoleNames, v); }

// What a launch command says of a replica; 0 or none: the engine's default.
struct ReplicaOptions {
  WeightScheme weights{};
  KvCacheFormat kv_cache = KvCacheFormat::bf16;
  ReplicaLayout layout{};
  ExpertExchange exchange = ExpertExchange::automatic;
  std::optional<double> memory_fraction{};  // gpu_memory_utilization, mem_fraction_static ...
  int max_num_seqs = 0;                     // --max-running-requests, --max_batch_size
  int max_num_batched_tokens = 0;           // --chunked-prefill-size, --max_num_tokens
  int max_model_len = 0;                    // 0: the model's
  int block_size = 0;                       // tokens of a block of the cache
  int max_cache_tokens = 0;                 // of the cache, at most: --max-total-tokens
  int num_speculative_tokens = 0;           // drafts a step
  bool enforce_eager = false;               // no CUDA graphs
  bool throughput_mode = false;             // --performance-mode throughput
  PoolRole role = PoolRole::aggregated;
  PromptWait prompt_wait{};
  bool operator==(const ReplicaOptions&) const = default;
};

}  // namespace meshwright
