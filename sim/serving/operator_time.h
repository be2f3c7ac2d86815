// SPDX-License-Identifier: Apache-2.0
// Time of the operators that only inference has: attention over a cache, experts with few tokens,
// products with narrow weights, small all-reduces, and the exchange of tokens. The rates are those
// of the device (hardware/inference_rates.h); a device without rows gets the pooled ones.
//
// norm3(a, b) = (a^3 + b^3)^(1/3), as sim/kernel_time/host.h.
#pragma once

#include "sim/hardware/inference_rates.h"
#include "sim/kernel_time/compute.h"
#include "sim/serving/engine.h"
#include "sim/volume/volume.h"

namespace meshwright {

DecodeAttentionRate decode_rate(const InferenceRates& rates, EngineKind engine, AttentionForm form,
                                KvCacheFormat kv_cache);
PrefillAttentionRate prefill_rate(const InferenceRates& rates, EngineKind engine,
                                  AttentionForm form, std::int64_t head_dim,
                                  KvCacheFormat kv_cache);
ExpertRate expert_rate(const InferenceRates& rates, EngineKind engine, WeightFormat format,
                       ExpertSharding sharding = ExpertSharding::none);
DispatchRate dispatch_rate(const InferenceRates& rates, int nodes);

// Format in which a device multiplies with such weights. Cores run 16-bit models in fp32
// (calibrate/trial/serving), and hold weights, activations and the cache so.
Precision served_precision(WeightFormat format, const Device& device);
// Bytes of one number of an activation, a key or a value that a 16-bit model has: 2; on cores 4.
double served_bytes(const Device& device);
// Bytes that a product reads of one weight.
double read_weight_bytes(const WeightScheme& scheme, const Device& device);

// Decode attention of one layer: latency + norm3(bytes / (share * bandwidth), FLOPs / (share *
// peak)).
Seconds decode_attention_time(Bytes read, Flops work, const DecodeAttentionRate& rate,
                              const Device& device);
// Prefill attention of one layer: latency + FLOPs / (share * fill * peak), fill = keys / (keys +
// ramp) * waves / (waves + tail). Blocks: 128 queries of one head.
Seconds prefill_attention_time(Flops work, double mean_keys, double blocks,
                               const PrefillAttentionRate& rate, const Device& device);
// What the routed experts of one layer do on one rank.
struct ExpertWork {
  Bytes weights{};      // of the experts that are hit
  Bytes activations{};  // read and written
  Flops products{};
  double rows = 1;   // tokens of an expert that is hit
  double width = 1;  // columns of an expert on this rank
};
// latency + norm3((weights * (1 + ramp_width / width) + activations) / (share * bandwidth),
//                 FLOPs / (share * peak) * (1 + ramp_rows / rows)).
Seconds expert_time(const ExpertWork& work, const ExpertRate& rate, const Device& device);

// Routed experts of one layer as plain products, one expert after the other, as the trial runs them
// on cores: `experts` of them get `rows` tokens each, h -> width (twice if gated) -> h.
struct ExpertShape {
  double rows = 1, hidden = 1, width = 1;
  bool gated = false;
};
Cost expert_products_cost(double experts, const ExpertShape& shape, const WeightScheme& scheme,
                          const Device& device);

// A linear whose weights are stored in `scheme`: the device's product in the format that its
// kernels multiply in, with the weights' own bytes in place of that format's.
Cost linear_cost(GemmShape shape, const WeightScheme& scheme, const Device& device);

// Which algorithm an engine's library takes: "one-shot", "two-shot", or NCCL's.
std::string_view all_reduce_algorithm(Bytes payload, int ranks, const Engine& engine,
                                      const ServingCluster& cluster);
// One all-reduce of tensor ranks. In an NVLink domain the library's measured curve, else the
// formula of one and two shots; over PCIe or nodes NCCL's model (sim/collective).
Cost all_reduce_cost(Bytes payload, int ranks, const Engine& engine, const ServingCluster& cluster);
// One shot: every rank reads n - 1 payloads. Two shots: a reduce-scatter and an all-gather. The
// faster one, with shares of the link that are fitted over all chips with NVLink.
Seconds shot_all_reduce_time(Bytes payload, int ranks, const Link& link);

// What an exchange is on this cluster: nvlink_all_to_all needs whole experts, ranks in one NVLink
// domain, and a device whose rate is known. Else ranks gather.
ExpertExchange used_exchange(const ReplicaOptions& options, const ServingCluster& cluster);
// Ranks of n on which one of a token's k experts lies, its own among them: n (1 - (1 - 1 / n)^k).
double ranks_of_token(double ranks, double topk);

// One call of a step's ledger. All-reduces as above. Tokens on their way to experts: DeepEP's low
// latency and NVLink's kernels take latency + bytes / (share * link); DeepEP's low latency sends
// the copies of a rank's own experts, too. All else by NCCL's model (sim/collective).
Cost transfer_cost(const Transfer& transfer, const ReplicaOptions& options, const Engine& engine,
                   const ServingCluster& cluster);
// How it runs: one-shot, two-shot, ring ...; empty: point to point.
std::string_view transfer_algorithm(const Transfer& transfer, const ReplicaLayout& layout,
                                    const Engine& engine, const ServingCluster& cluster);

}  // namespace meshwright
