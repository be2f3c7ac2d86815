// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/cache_groups.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace meshwright {

CacheGroups cache_groups(const CachedLayers& model, const CachedLayers& stage, double group_slack) {
  double least = 0, most = 0;
  for (const double layers : {model.full, model.window, model.linear}) {
    if (layers > 0 && (least == 0 || layers < least)) least = layers;
    most = std::max(most, layers);
  }
  const double size = most < least * group_slack ? most : least;
  if (size == 0) return {};
  CacheGroups groups;
  const auto cut = [&](double all, double mine) {
    const int count = static_cast<int>(std::ceil(all / size));
    if (count > 0)
      groups.layers = std::max(groups.layers, static_cast<int>(std::ceil(mine / count)));
    return count;
  };
  groups.full = cut(model.full, stage.full);
  groups.window = cut(model.window, stage.window);
  groups.linear = cut(model.linear, stage.linear);
  return groups;
}

int steps_in_flight(const Engine& engine, const ReplicaLayout& layout) {
  const int last = engine.host.overlapped ? engine.cache.steps_in_flight : 1;
  return layout.pipeline_parallel_size - 1 + last;
}

SequenceCache in_groups(SequenceCache plain, const Model& m, const Engine& engine,
                        const ReplicaOptions& options) {
  const CachedLayers stage = cached_layers(m, options.layout.pipeline_parallel_size);
  // Layers of compressed attention hold tokens at rates of their own.
  if (engine.cache.group_slack == 0 || stage.full + stage.window == 0 || m.compressed_attention) {
    return plain;
  }
  const Bytes token = (plain.full_token + plain.window_token) / (stage.full + stage.window);
  CacheGroups groups = cache_groups(cached_layers(m, 1), stage, engine.cache.group_slack);
  SequenceCache cache = plain;
  if (groups.linear > 0) {
    const Bytes page = token * plain.block_size, state = plain.state / stage.linear;
    cache.block_size *= std::max(1, static_cast<int>(std::ceil(state / page)));
    groups.state_blocks = groups.linear * engine.cache.state_pages;
  }
  const Bytes places = token * groups.layers;
  groups.block = places * cache.block_size;
  const double in_flight =
      1.0 * options.max_num_batched_tokens * steps_in_flight(engine, options.layout);
  groups.window_tokens = plain.window + in_flight - (m.sliding_window_in_chunks ? 0 : 1);
  groups.window_blocks = m.sliding_window_in_chunks ? 0 : 1;
  cache.full_token = places * groups.full;
  cache.window_token = places * groups.window;
  cache.state = groups.block * groups.state_blocks;
  cache.groups = groups;
  return cache;
}

}  // namespace meshwright
