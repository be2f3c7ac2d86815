// SPDX-License-Identifier: Apache-2.0
// What moves when a prompt is computed in one pool and decoded in another.
//
//   bytes of a rank  tokens * (bytes of a token on it), the larger of the two sides
//   moving           max(bytes / link, descriptors * descriptor time, bytes of all ranks / rate)
//   time             handover + moving
// A descriptor is one block of one layer (keys and values apart where they are), or the blocks of
// one prefill step, if the engine joins those that lie side by side (SGLang
// disaggregation/common/utils.py, group_concurrent_contiguous). Handover: requests
// between the pools' schedulers. The links of a decode group carry one prompt after the other, and
// its cache holds the whole prompt from the start of a transfer. Sources: vllm#34054 (40,064
// descriptors, 313 MB in 174 ms), #50913 (105 ms of a hand-over of 263 ms); NixlConnector
// allocates a prompt's blocks before it reads them (aiconfigurator#1380).
#pragma once

#include "sim/hardware/inference_rates.h"
#include "sim/serving/engine.h"
#include "sim/serving/kv_cache.h"

namespace meshwright {

struct KvTransfer {
  Bytes all{};             // of the prompt, nothing repeated
  Bytes rank{};            // through one link
  double descriptors = 0;  // of one rank
  Seconds handover{};      // of the time, what does not grow with the prompt
  Seconds moving{};        // the links are taken so long
  Seconds time{};
};
// Bytes that one rank of a replica caches of so many tokens, of the stage with the most layers:
// what a decode rank receives of a prompt.
Bytes kv_rank_bytes(const Model& model, const ReplicaOptions& options, double tokens);
// Options with defaults.
// `decode_groups`: attention groups of the decode pool, which share the engine's rate.
KvTransfer kv_transfer(const Model& model, const Engine& engine, const ReplicaOptions& prefill,
                       const ReplicaOptions& decode, const Link& link, double tokens,
                       double decode_groups = 1);
// The same between the pools of a cluster: as copies were measured there, where they were (cores;
// time = latency + bytes of a rank / rate, in the numbers that are cached there), else as the
// engine moves them over the link between the pools. `gpus`: of both.
KvTransfer pools_transfer(const Model& model, const ServingCluster& cluster, const Engine& engine,
                          const ReplicaOptions& prefill, const ReplicaOptions& decode, int gpus,
                          double tokens, double decode_groups = 1);
// The link between two pools: inside a node if both fit into one, else between nodes.
const Link& pool_link(const Cluster& cluster, int gpus);

}  // namespace meshwright
