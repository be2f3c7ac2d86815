// SPDX-License-Identifier: Apache-2.0
// A service as the launch commands or the manifest of an inference engine say it: what was read,
// what changes no answer and why, and what was not understood, each with its place.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/launch_record.h"
#include "sim/serving/engine.h"
#include "sim/serving/load.h"

namespace meshwright::interop {

using meshwright::PoolRole;

// Replicas that are started by one command. `options.layout` counts as sim/serving/replica.h does:
// the tensor size never contains data ranks.
struct LaunchedPool {
  PoolRole role = PoolRole::aggregated;
  int replicas = 1;
  ReplicaOptions options{};
  bool expert_parallel = false;  // vLLM: experts lie over all tensor and data ranks
  int graph_max_batch = 0;       // 0: the engine's
  bool custom_all_reduce = true;
  int gpus_of_container = 0;  // that a manifest asks for; 0: not said
  int visible_gpus = 0;       // that the process may use on its host; 0: not said
  int nodes = 0;              // of a replica, that a manifest states; 0: not said
  int copies = 1;             // of the layout that one process starts
  int operator_gpus = 0;      // of a node, that KAITO shares out by the model's size
  bool tensor_by_operator = false, data_by_operator = false;  // sizes that it chooses
  bool spans_nodes = false;                                   // the command names other nodes
  bool follows = false;  // the process belongs to the replica of another node's
  bool operator==(const LaunchedPool&) const = default;
};

// An option that was understood and changes no predicted number, and why.
struct PassedOver {
  std::string said, why;
  Place place;
};

// An option that an engine had until some release.
struct GoneOption {
  std::string said;
  std::string_view release;  // the first known one without it
  Place place;
};

struct ServingLaunch {
  EngineKind engine = EngineKind::vllm;
  std::string form;  // "command", "Deployment", "LeaderWorkerSet", "DynamoGraphDeployment"
  std::string engine_version;             // of the image; empty: not said
  std::string model;                      // as the command names it: a checkpoint's name or path
  std::optional<WeightFormat> weights{};  // none: the checkpoint's
  bool quantized_checkpoint = false;      // --quantization leaves the format to it
  bool kv_cache_said = false;
  std::optional<bool> prefix_caching{}, async_scheduling{};
  std::vector<LaunchedPool> pools{};
  std::optional<ServingLoad> load{};  // of a benchmark client in the same file
  std::vector<Fact> read{}, assumed{};
  std::vector<PassedOver> passed_over{};
  std::vector<NotUnderstood> not_understood{};
  std::vector<NotUnderstood> cannot_start{};  // what every release of the engine stops at
  std::vector<GoneOption> gone{};
  bool longer_positions = false;      // than the model's own are asked for and allowed
  std::vector<ServingLaunch> more{};  // other services of the file
};

// A prefill and a decode pool, not one that does everything.
inline bool has_pools(const ServingLaunch& launch) {
  return !launch.pools.empty() && launch.pools.front().role != PoolRole::aggregated;
}
// The engine's name as its users write it: "vLLM".
std::string_view title_of(EngineKind engine);

}  // namespace meshwright::interop
