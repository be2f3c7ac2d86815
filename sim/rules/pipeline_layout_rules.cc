// SPDX-License-Identifier: Apache-2.0
#include "sim/rules/pipeline_layout_rules.h"

namespace meshwright {

int layers_of_smallest_listed_stage(const Layout& l) {
  int smallest = 0;
  for (const Stage& stage : listed_stages(l)) {
    const int layers = stage.num_layers();
    if (layers > 0 && (smallest == 0 || layers < smallest)) smallest = layers;
  }
  return smallest;
}

LayersListed layers_listed(PipelineLayout layout) {
  LayersListed listed;
  for (const ChunkItems& chunk : layout.chunks()) {
    listed.decoder += chunk.num_layers;
    listed.mtp += chunk.mtp_num_layers;
  }
  return listed;
}

CheckResult stands_alone(const RuleInput& in) {
  const Layout& l = in.layout;
  const bool other_split = counts_embedding_or_loss(l) ||
                           l.num_layers_in_first_pipeline_stage > 0 ||
                           l.num_layers_in_last_pipeline_stage > 0;
  if (l.pipeline_engine == PipelineEngine::megatron && !other_split) {
    return std::nullopt;
  }
  return missed(0, 1);
}

CheckResult fills_the_stages(const RuleInput& in) {
  const Layout& l = in.layout;
  const int chunks = traits(l.schedule).mirrored() ? 1 : l.virtual_pipeline_parallel_size;
  const std::int64_t needed = std::int64_t{l.pipeline_parallel_size} * chunks;
  const int listed = l.pipeline_layout.num_chunks();
  return listed == needed ? CheckResult{} : missed(needed, listed);
}

CheckResult holds_the_model(const RuleInput& in) {
  const LayersListed listed = layers_listed(in.layout.pipeline_layout);
  if (listed.decoder != in.model.num_layers) {
    return missed(in.model.num_layers, listed.decoder);
  }
  if (listed.mtp == in.model.mtp_num_layers) return std::nullopt;
  return missed(in.model.mtp_num_layers, listed.mtp);
}

CheckResult places_mtp(const RuleInput& in) {
  const Layout& l = in.layout;
  const auto chunks = l.pipeline_layout.chunks();
  int with_mtp = 0;
  bool misplaced = false;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (chunks[c].mtp_num_layers == 0) continue;
    ++with_mtp;
    const auto stages = static_cast<std::size_t>(l.pipeline_parallel_size);
    // A stage of a V or of DualPipe holds the model's first and last chunk.
    const bool in_turn = traits(l.schedule).placement == ChunkPlacement::in_turn;
    misplaced =
        misplaced || c + stages < chunks.size() || (in_turn && stages > 1 && c % stages == 0);
  }
  return with_mtp > 1 || misplaced ? CheckResult{missed(1, with_mtp)} : std::nullopt;
}

}  // namespace meshwright
