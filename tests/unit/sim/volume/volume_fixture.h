// SPDX-License-Identifier: Apache-2.0
// Small models and sums over a ledger that the volume tests share.
#pragma once

#include <string_view>

#include "sim/volume/volume.h"

namespace meshwright::volume_test {

// 8 layers, h = 64, f = 256, 8 heads of 8, 32 tokens a sequence: b*s*h*w = 1*32*64*2 = 4096 bytes.
inline constexpr double kUnit = 4096;

inline Model small_model() {
  Model model;
  model.num_layers = 8;
  model.hidden_size = 64;
  model.ffn_hidden_size = 256;
  model.num_attention_heads = 8;
  model.num_query_groups = 8;
  model.kv_channels = 8;
  model.vocab_size = 128;
  model.max_position_embeddings = 32;
  return model;
}

inline Model small_experts() {
  Model model = small_model();
  model.moe = MixtureOfExperts{};
  model.moe->num_moe_experts = 4;
  model.moe->moe_router_topk = 2;
  model.moe->moe_ffn_hidden_size = 32;
  return model;
}

// 16 sequences; with micro-batch 1 and one data rank that is 16 micro-batches.
inline Job small_job() {
  Job job;
  job.seq_length = 32;
  job.global_batch_size = 16;
  job.make_vocab_size_divisible_by = 16;
  return job;
}

inline Layout tensor(int size, bool sequence_parallel = false) {
  Layout layout;
  layout.tensor_parallel_size = size;
  layout.sequence_parallel = sequence_parallel;
  return layout;
}

inline StageVolume stage_of(const Model& model, const Layout& layout, int stage = 0) {
  return volume(model, small_job(), layout).stages.at(static_cast<std::size_t>(stage));
}

inline double payload(const StageVolume& volume, Group group, Phase phase) {
  Bytes sum;
  for (const Transfer& t : volume.transfers) {
    if (t.group == group && t.phase == phase) sum += t.payload_per_step();
  }
  return sum.value();
}

// Without what happens once a step.
inline double payload_of_micro_batches(const StageVolume& volume, Group group) {
  return payload(volume, group, Phase::forward) + payload(volume, group, Phase::backward) +
         payload(volume, group, Phase::recompute);
}

inline const Transfer* find(const StageVolume& volume, std::string_view name,
                            Phase phase = Phase::forward) {
  for (const Transfer& t : volume.transfers) {
    if (t.name == name && t.phase == phase) return &t;
  }
  return nullptr;
}

}  // namespace meshwright::volume_test
