// SPDX-License-Identifier: Apache-2.0
#include "sim/model/model.h"

#include <gtest/gtest.h>

#include <string>

namespace meshwright {
namespace {

Model grouped() {
  Model model;
  model.num_layers = 8;
  model.hidden_size = 64;
  model.num_attention_heads = 8;
  model.num_query_groups = 2;
  model.kv_channels = 16;
  return model;
}

std::string expert_layers(const Model& model) {
  std::string layers;
  for (int i = 0; i < model.num_layers; ++i) {
    layers += layer_kind(model, i).mixture_of_experts ? 'x' : '-';
  }
  return layers;
}

std::string windowed_layers(const Model& model) {
  std::string layers;
  for (int i = 0; i < model.num_layers; ++i) {
    layers += layer_kind(model, i).sliding_window ? 'w' : '-';
  }
  return layers;
}

TEST(Model, ProjectionsAreAsWideAsTheirHeads) {
  EXPECT_EQ(query_size(grouped()), 8 * 16);
  EXPECT_EQ(key_size(grouped()), 2 * 16);
  EXPECT_EQ(attention_output_size(grouped()), 8 * 16);
}

TEST(Model, LatentAttentionHasAKeyForEachHead) {
  Model model = grouped();
  model.mla = LatentAttention{
      .kv_lora_rank = 32, .qk_head_dim = 12, .qk_pos_emb_head_dim = 4, .v_head_dim = 10};
  EXPECT_EQ(query_size(model), 8 * (12 + 4));
  EXPECT_EQ(key_size(model), 8 * (12 + 4));
  EXPECT_EQ(attention_output_size(model), 8 * 10);
}

TEST(Model, WithoutAttentionThereIsNoProjection) {
  Model model;
  EXPECT_EQ(query_size(model) + key_size(model) + attention_output_size(model), 0);
}

TEST(Model, ExpertLayersStartAfterTheDenseOnesAndRepeat) {
  Model model = grouped();
  EXPECT_EQ(expert_layers(model), "--------");
  model.moe = MixtureOfExperts{.num_moe_experts = 4, .moe_router_topk = 1};
  EXPECT_EQ(expert_layers(model), "xxxxxxxx");
  model.moe->num_first_dense_layers = 3;
  EXPECT_EQ(expert_layers(model), "---xxxxx");
  model.moe->moe_layer_interval = 2;
  EXPECT_EQ(expert_layers(model), "---x-x-x");
}

TEST(Model, LastLayerOfEachWindowIntervalIsFull) {
  Model model = grouped();
  EXPECT_EQ(windowed_layers(model), "--------");
  model.sliding_window = 128;
  EXPECT_EQ(windowed_layers(model), "wwwwwwww");
  model.sliding_window_interval = 2;  // Gemma 2
  EXPECT_EQ(windowed_layers(model), "w-w-w-w-");
  model.sliding_window_interval = 6;  // Gemma 3
  EXPECT_EQ(windowed_layers(model), "wwwww-ww");
}

}  // namespace
}  // namespace meshwright
