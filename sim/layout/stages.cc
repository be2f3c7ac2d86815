// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/stages.h"

#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

// Layers that stand in for embedding and loss when the model is divided.
int counted_extras(const Layout& layout) {
  return (layout.account_for_embedding_in_pipeline_split ? 1 : 0) +
         (layout.account_for_loss_in_pipeline_split ? 1 : 0);
}

// With the stand-ins.
int layers_of_stage(int num_layers, const Layout& layout, int stage) {
  const int stages = layout.pipeline_parallel_size;
  const int first = layout.num_layers_in_first_pipeline_stage;
  const int last = layout.num_layers_in_last_pipeline_stage;
  if (stage == 0 && first > 0) return first;
  if (stage == stages - 1 && last > 0) return last;
  const int even_stages = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
  return (num_layers + counted_extras(layout) - first - last) / even_stages;
}

// Gives the model's layers to chunks in the order in which a micro-batch meets them.
class ChunkCutter {
 public:
  ChunkCutter(int num_chunks, const Layout& layout) : num_chunks_(num_chunks), layout_(layout) {}
  Chunk cut(int num_layers) {
    Chunk chunk;
    chunk.first_layer = next_layer_;
    chunk.num_layers = num_layers;
    chunk.embedding = next_chunk_ == 0;
    chunk.head = chunk.mtp = next_chunk_ == num_chunks_ - 1;
    if (chunk.embedding && layout_.account_for_embedding_in_pipeline_split) --chunk.num_layers;
    if (chunk.head && layout_.account_for_loss_in_pipeline_split) --chunk.num_layers;
    next_layer_ += chunk.num_layers;
    ++next_chunk_;
    return chunk;
  }

 private:
  int num_chunks_;
  const Layout& layout_;
  int next_chunk_ = 0;
  int next_layer_ = 0;
};

std::vector<Stage> stages_by_cost(const Model& model, const Layout& layout) {
  const int stages = layout.pipeline_parallel_size;
  ChunkCutter cutter(stages, layout);
  std::vector<Stage> result;
  for (const int layers : layers_by_cost(model, stages)) {
    result.emplace_back().chunks.push_back(cutter.cut(layers));
  }
  return result;
}

// p chunks, each held by two stages, because micro-batches enter from both ends.
std::vector<Stage> mirrored(const std::vector<Chunk>& chunks) {
  std::vector<Stage> result(chunks.size());
  for (std::size_t stage = 0; stage < chunks.size(); ++stage) {
    result[stage].chunks = {chunks[stage], chunks[chunks.size() - 1 - stage]};
  }
  return result;
}

std::vector<Stage> mirrored_stages(int num_layers, const Layout& layout) {
  const int stages = layout.pipeline_parallel_size;
  ChunkCutter cutter(stages, layout);
  std::vector<Chunk> chunks;
  for (int stage = 0; stage < stages; ++stage) {
    chunks.push_back(cutter.cut(layers_of_stage(num_layers, layout, stage)));
  }
  return mirrored(chunks);
}

}  // namespace

std::vector<Stage> listed_stages(const Layout& layout) {
  std::vector<Chunk> chunks;
  int next_layer = 0;
  int hidden_states = 1;
  for (const ChunkItems& items : layout.pipeline_layout.chunks()) {
    Chunk& chunk = chunks.emplace_back(Chunk{.first_layer = next_layer,
                                             .num_layers = items.num_layers,
                                             .embedding = items.embedding,
                                             .head = items.loss,
                                             .mtp = items.mtp_num_layers > 0,
                                             .hidden_states_in = hidden_states});
    hidden_states = items.loss ? 1 : hidden_states + items.mtp_num_layers;
    chunk.hidden_states_out = hidden_states;
    next_layer += items.num_layers;
  }
  if (traits(layout.schedule).mirrored()) return mirrored(chunks);
  const int stages = layout.pipeline_parallel_size;
  std::vector<Stage> result(static_cast<std::size_t>(stages));
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const int stage = stage_chunk(layout.schedule, stages, static_cast<int>(c)).stage;
    result[static_cast<std::size_t>(stage)].chunks.push_back(chunks[c]);
  }
  return result;
}

std::vector<int> layers_by_cost(const Model& model, int stages) {
  const double h = model.hidden_size;
  const double layer =
      4.0 * static_cast<double>(query_size(model)) * h + 3.0 * model.ffn_hidden_size * h;
  const double head = static_cast<double>(model.vocab_size) * h;
  const double total = layer * model.num_layers + head;
  std::vector<int> layers(1, 0);
  double sum = 0;
  const auto place = [&](double cost, int blocks_of_layers) {
    layers.back() += blocks_of_layers;
    sum += cost;
    const auto share = static_cast<double>(layers.size()) / stages;
    if (sum > total * share) layers.push_back(0);
  };
  for (int i = 0; i < model.num_layers; ++i) place(layer, 1);
  place(0, 0);  // final norm
  place(head, 0);
  place(0, 0);  // cast to fp32; the loss is the last block
  return layers;
}

std::vector<Stage> pipeline_stages(const Model& model, const Layout& layout) {
  if (layout.pipeline_layout) return listed_stages(layout);
  if (layout.pipeline_engine == PipelineEngine::nanotron) return stages_by_cost(model, layout);
  const ScheduleTraits& schedule = traits(layout.schedule);
  if (schedule.mirrored()) return mirrored_stages(model.num_layers, layout);
  const int stages = layout.pipeline_parallel_size;
  const int chunks = layout.virtual_pipeline_parallel_size;
  ChunkCutter cutter(stages * chunks, layout);
  std::vector<Stage> result(static_cast<std::size_t>(stages));
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (int position = 0; position < stages; ++position) {
      const int stage = schedule.folded() && chunk % 2 == 1 ? stages - 1 - position : position;
      const int layers = layers_of_stage(model.num_layers, layout, stage) / chunks;
      result[static_cast<std::size_t>(stage)].chunks.push_back(cutter.cut(layers));
    }
  }
  return result;
}

}  // namespace meshwright
