// SPDX-License-Identifier: Apache-2.0
// Groups of layers that share the blocks of a cache, and what a request reserves of these.
//
//   group    as many layers as the rarest kind has (full, window, state); as the most frequent one
//            has if that is below `group_slack` times the rarest. Places without a layer are empty
//   block    of one group: its places * block_size * bytes of a token in a layer
//   full     ceil(n / block_size) blocks a group
//   window   min(W - 1 + tokens in flight, n) in blocks, and one that the window begins in
//   chunk    min(W + tokens in flight, n) in blocks
//   state    block_size grows by whole blocks until a layer's page holds a state
// A stage of a pipeline has its layers of the whole model's groups.
// Source: vLLM 0.32, v1/core/kv_cache_utils.py (_get_kv_cache_groups_uniform_page_size,
// get_kv_cache_capacity) and v1/kv_cache_interface.py (max_admission_blocks_per_request).
#pragma once

#include "sim/serving/engine.h"
#include "sim/serving/kv_cache.h"

namespace meshwright {

// Groups of the layers of a whole model, `layers` those of the fullest stage's.
CacheGroups cache_groups(const CachedLayers& model, const CachedLayers& stage, double group_slack);

// Steps whose tokens are on their way at once.
int steps_in_flight(const Engine& engine, const ReplicaLayout& layout);

// The cache of a sequence, with layers in groups where the engine makes these.
SequenceCache in_groups(SequenceCache plain, const Model& model, const Engine& engine,
                        const ReplicaOptions& options);

}  // namespace meshwright
