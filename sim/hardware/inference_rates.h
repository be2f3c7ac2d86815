// SPDX-License-Identifier: Apache-2.0
// How fast the kernels of inference engines run on a device: attention over a cache, experts with
// few tokens, small all-reduces, the exchange of tokens. Fitted from operators that engines ran
// (scripts/fit-serving-operators); the formulas are those of sim/serving/operator_time.h.
//
// A row without an engine counts for all. A device without rows gets those of kPooled... in
// sim/serving/pooled_rates.h, which are fitted over all chips.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/serving_formats.h"
#include "sim/base/units.h"
#include "sim/hardware/cluster.h"

namespace meshwright {

// Software that serves. Each of its versions is a file of configs/engines.
enum class EngineKind { vllm, sglang, tensorrt_llm };
inline constexpr std::array kEngineKindNames{EnumName{EngineKind::vllm, "vllm"},
                                             EnumName{EngineKind::sglang, "sglang"},
                                             EnumName{EngineKind::tensorrt_llm, "tensorrt-llm"}};
constexpr std::string_view name_of(EngineKind v) { return name_in(kEngineKindNames, v); }

// Grouped: keys and values of query groups. Latent: one compressed vector for all heads (MLA).
// Sparse: entries that an indexer chose.
enum class AttentionForm { grouped, latent, sparse };
inline constexpr std::array kAttentionFormNames{EnumName{AttentionForm::grouped, "grouped"},
                                                EnumName{AttentionForm::latent, "latent"},
                                                EnumName{AttentionForm::sparse, "sparse"}};
constexpr std::string_view name_of(AttentionForm v) { return name_in(kAttentionFormNames, v); }

// Decode: time = latency + sequences * sequence_latency + norm3(bytes / (bandwidth_fraction *
// memory bandwidth), FLOPs / (compute_fraction * 16-bit peak)); bytes are those of the context and
// extra_keys of each sequence.
struct DecodeAttentionRate {
  EngineKind engine = EngineKind::vllm;
  AttentionForm form = AttentionForm::grouped;
  KvCacheFormat kv_cache = KvCacheFormat::bf16;  // bf16 or fp8
  Seconds latency = microseconds(11);
  double bandwidth_fraction = 0.8;
  double compute_fraction = 0.5;
  double extra_keys = 64;
  double relative_spread = 0.2;
  Provenance provenance = Provenance::extrapolated;
  Seconds sequence_latency{};  // of engines that attend one sequence after the other
  // Share of the memory bandwidth at which an indexer reads its keys and finds the best, and the
  // latency of its kernels.
  double index_fraction = 0.5;
  Seconds index_latency{};
  bool operator==(const DecodeAttentionRate&) const = default;
};

// Prefill: time = latency + sequences * sequence_latency + FLOPs / (fraction * fill * 16-bit peak),
// fill as of AttentionRate. A kernel that multiplies whole matrices and masks them afterwards also
// does the FLOPs of the pairs that the mask hides: T^2 / 2 of a prompt of T tokens.
struct PrefillAttentionRate {
  EngineKind engine = EngineKind::vllm;
  AttentionForm form = AttentionForm::grouped;
  int head_dim = 128;  // MLA: (192 + 128) / 2
  KvCacheFormat kv_cache = KvCacheFormat::bf16;
  Seconds latency = microseconds(11);
  double fraction = 0.6;
  double ramp_keys = 300;
  double tail_waves = 0.3;
  double relative_spread = 0.2;
  Provenance provenance = Provenance::extrapolated;
  Seconds sequence_latency{};
  bool hidden_pairs = false;  // are computed, too
  bool operator==(const PrefillAttentionRate&) const = default;
};

// Products of a layer's routed experts (expert_time). Narrow experts reach less of the bandwidth:
// half of it at a width of ramp_width. Few rows reach less of the peak: half of it at ramp_rows.
// Kernels differ by sharding: expert ranks skip the tokens of other ranks.
struct ExpertRate {
  EngineKind engine = EngineKind::vllm;
  WeightFormat format = WeightFormat::bf16;
  ExpertSharding sharding = ExpertSharding::none;
  Seconds latency = microseconds(30);
  double bandwidth_fraction = 0.7;
  double compute_fraction = 0.3;
  double ramp_rows = 8;
  double ramp_width = 0;
  double relative_spread = 0.3;
  Provenance provenance = Provenance::extrapolated;
  bool operator==(const ExpertRate&) const = default;
};

struct AllReducePoint {
  Bytes payload{};
  Seconds time{};
  bool operator==(const AllReducePoint&) const = default;
};
// All-reduce of one engine's library inside a CUDA graph, ranks of one NVLink domain.
struct AllReduceCurve {
  EngineKind engine = EngineKind::vllm;
  int group_size = 2;
  double relative_spread = 0.05;
  Provenance provenance = Provenance::measured;
  std::vector<AllReducePoint> points{};  // by payload
  bool operator==(const AllReduceCurve&) const = default;
};

// DeepEP's low-latency kernels: time = latency + bytes / (bandwidth_fraction * link bandwidth).
struct DispatchRate {
  int nodes = 1;
  Seconds dispatch_latency = microseconds(14);
  double dispatch_fraction = 0.6;
  Seconds combine_latency = microseconds(16);
  double combine_fraction = 0.55;
  double relative_spread = 0.15;
  Provenance provenance = Provenance::extrapolated;
  bool operator==(const DispatchRate&) const = default;
};

// What the trial's engine does on the host in a step, besides the model's layers: it composes the
// step, hands out blocks, counts transfers, and takes the likeliest of a sequence's logits.
struct HostStepRate {
  Seconds step{};
  Seconds sequence{};  // each that decodes
  Seconds logit{};     // each of a sequence that gets a token
  double relative_spread = 0.1;
  Provenance provenance = Provenance::fitted;
  bool operator==(const HostStepRate&) const = default;
};

// Copies of a prompt's cache from a rank of a prefill replica to one of a decode replica, as the
// trial's engine makes them: taken out of the blocks, sent, put into blocks. time = latency + bytes
// / rate.
struct CacheCopyRate {
  Seconds latency{};
  BytesPerSecond rate{};
  double relative_spread = 0.1;
  Provenance provenance = Provenance::fitted;
  bool operator==(const CacheCopyRate&) const = default;
};

// How much longer a whole step of the trial's engine takes than the sum of its parts, which were
// timed alone: dispatch, the allocator, what parts leave in the caches, waits between ranks.
struct ServedRemainder {
  bool prompts = false;  // a step of prompts; else one of decodes
  int tensor_parallel_size = 1, pipeline_parallel_size = 1;
  double rows = 1;               // new tokens of the step
  double share = 0.0;            // of the parts' sum; below 0 where the step was faster
  double relative_spread = 0.0;  // of the whole step
  bool operator==(const ServedRemainder&) const = default;
};

// "inference" of a device's file, or of a measured profile. Training does not read it.
struct InferenceRates {
  std::string source{};
  std::vector<DecodeAttentionRate> decode_attention{};
  std::vector<PrefillAttentionRate> prefill_attention{};
  std::vector<ExpertRate> experts{};
  std::vector<AllReduceCurve> all_reduce{};
  std::vector<DispatchRate> dispatch{};
  std::optional<DispatchRate> nvlink_all_to_all{};  // between the ranks of one NVLink domain
  std::optional<HostStepRate> host_step{};
  std::optional<CacheCopyRate> cache_copy{};
  std::vector<ServedRemainder> step_remainders{};  // rows ascend
  bool operator==(const InferenceRates&) const = default;
};

// A cluster that serves.
struct ServingCluster : Cluster {
  InferenceRates inference{};
};

}  // namespace meshwright
