// SPDX-License-Identifier: Apache-2.0
#include "sim/block/parameters.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

Model gpt(int layers, int hidden, int heads, int vocab, int positions) {
  Model model;
  model.num_layers = layers;
  model.hidden_size = hidden;
  model.ffn_hidden_size = 4 * hidden;
  model.num_attention_heads = heads;
  model.num_query_groups = heads;
  model.kv_channels = hidden / heads;
  model.vocab_size = vocab;
  model.max_position_embeddings = positions;
  return model;
}

// h = 8, 4 heads of 3, 2 groups, f = 10, no bias: as Llama, in small.
Model small_llama() {
  Model model = gpt(2, 8, 4, 100, 0);
  model.num_query_groups = 2;
  model.kv_channels = 3;
  model.ffn_hidden_size = 10;
  model.activation = Activation::swiglu;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = false;
  model.tied_embeddings = false;
  return model;
}

TEST(Parameters, GptFollowsTheClosedForm) {
  // Narayanan 2021 (arXiv 2104.04473), eq. 2: 12 l h^2 (1 + 13/(12h) + (V+s)/(12lh)), to which the
  // final norm adds 2h. 22B of Korthikanti 2022: l 48, h 6144, V 51200, s 2048:
  // 12*48*6144^2 = 21,743,271,936; 13*48*6144 = 3,833,856; 53248*6144 = 327,155,712; 12,288.
  EXPECT_EQ(total_parameters(gpt(48, 6144, 64, 51200, 2048)),
            21'743'271'936 + 3'833'856 + 327'155'712 + 12'288);
}

TEST(Parameters, GptLayerSplitsIntoShardedAndReplicated) {
  // h = 8, f = 32. Sharded: qkv 3*64 + 24, projection 64, fc1 256 + 32, fc2 256 = 824.
  // Replicated: two norms 32, biases of the two row-parallel linears 16 = 48.
  const LayerParameters layer = layer_parameters(gpt(1, 8, 2, 0, 0), {});
  EXPECT_EQ(layer.sharded, 824);
  EXPECT_EQ(layer.replicated, 48);
  EXPECT_EQ(layer.expert, 0);
}

TEST(Parameters, GroupedHeadsShrinkKeysAndValuesOnly) {
  // qkv 8*(12 + 6 + 6) = 192, projection 12*8 = 96, three MLP matrices 3*80 = 240; two norms 16.
  const LayerParameters layer = layer_parameters(small_llama(), {});
  EXPECT_EQ(layer.sharded, 528);
  EXPECT_EQ(layer.replicated, 16);
  // 2 layers of 544, embedding 800, head 800 and final norm 8.
  EXPECT_EQ(total_parameters(small_llama()), 2 * 544 + 800 + 808);
}

TEST(Parameters, EachSwitchAddsItsOwn) {
  const std::int64_t base = layer_parameters(small_llama(), {}).total();
  const auto added = [base](auto change) {
    Model model = small_llama();
    change(model);
    return layer_parameters(model, {}).total() - base;
  };
  EXPECT_EQ(added([](Model& m) { m.add_qkv_bias = true; }), 12 + 6 + 6);
  EXPECT_EQ(added([](Model& m) { m.qk_layernorm = true; }), 2 * 3);
  EXPECT_EQ(added([](Model& m) { m.qk_layernorm = m.qk_layernorm_all_heads = true; }), 12 + 6);
  EXPECT_EQ(added([](Model& m) { m.post_layer_norms = true; }), 2 * 8);
  EXPECT_EQ(added([](Model& m) { m.attention_sinks = true; }), 4);
  EXPECT_EQ(added([](Model& m) { m.parallel_attention_mlp = true; }), 0);
  EXPECT_EQ(added([](Model& m) {
              m.parallel_attention_mlp = true;
              m.parallel_shared_layer_norm = true;
            }),
            -8);
  // Biases: qkv 24, projection 8, gate and up 20, fc2 8.
  EXPECT_EQ(added([](Model& m) { m.add_bias_linear = true; }), 60);
}

TEST(Parameters, EmbeddingHoldsTokensPositionsAndItsNorm) {
  Model model = gpt(1, 8, 2, 100, 16);
  EXPECT_EQ(embedding_parameters(model, 100), 800 + 128);
  EXPECT_EQ(embedding_parameters(model, 128), 1024 + 128);
  model.position_embedding = PositionEmbedding::alibi;
  model.embedding_layer_norm = true;
  EXPECT_EQ(embedding_parameters(model, 100), 800 + 16);
}

TEST(Parameters, TiedHeadIsItsNormOnly) {
  Model model = gpt(1, 8, 2, 100, 16);
  EXPECT_EQ(head_parameters(model, 100), 16);
  model.tied_embeddings = false;
  EXPECT_EQ(head_parameters(model, 100), 16 + 800);
}

TEST(Parameters, ExpertsAreCountedApart) {
  Model model = small_llama();
  model.moe =
      MixtureOfExperts{.num_moe_experts = 4, .moe_router_topk = 1, .moe_ffn_hidden_size = 5};
  // Expert: 3 * 8 * 5 = 120. Attention 288; router 32 and norms 16.
  const LayerParameters layer = layer_parameters(model, {.mixture_of_experts = true});
  EXPECT_EQ(layer.expert, 480);
  EXPECT_EQ(layer.sharded, 288);
  EXPECT_EQ(layer.replicated, 48);
  model.moe->moe_shared_expert_intermediate_size = 7;  // 3 * 8 * 7
  model.moe->moe_router_bias = true;
  model.moe->moe_expert_bias = true;  // 2 * 5 + 8 each
  const LayerParameters full = layer_parameters(model, {.mixture_of_experts = true});
  EXPECT_EQ(full.sharded, 288 + 168);
  EXPECT_EQ(full.replicated, 48 + 4);
  EXPECT_EQ(full.expert, 480 + 4 * 18);
  // A dense layer of the same model knows nothing of experts.
  EXPECT_EQ(layer_parameters(model, {}).total(), layer_parameters(small_llama(), {}).total());
}

TEST(Parameters, TokensPassTopKExperts) {
  Model model = small_llama();
  EXPECT_EQ(active_parameters(model), total_parameters(model));
  model.moe =
      MixtureOfExperts{.num_moe_experts = 4, .moe_router_topk = 1, .moe_ffn_hidden_size = 5};
  EXPECT_EQ(total_parameters(model) - active_parameters(model), 2 * 3 * 120);
  model.moe->num_first_dense_layers = 1;
  EXPECT_EQ(total_parameters(model) - active_parameters(model), 3 * 120);
}

TEST(Parameters, LatentDownProjectionsAreReplicated) {
  Model model = small_llama();
  model.mla = LatentAttention{.q_lora_rank = 6,
                              .kv_lora_rank = 5,
                              .qk_head_dim = 3,
                              .qk_pos_emb_head_dim = 2,
                              .v_head_dim = 4};
  // Down: query 8*6 and its norm 6, key-value 8*(5+2) and its norm 5 = 115, two norms 16.
  // Up: query 6*4*(3+2) = 120, key-value 5*4*(3+4) = 140, output 4*4*8 = 128, MLP 240.
  const LayerParameters layer = layer_parameters(model, {});
  EXPECT_EQ(layer.replicated, 115 + 16);
  EXPECT_EQ(layer.sharded, 120 + 140 + 128 + 240);
  model.mla->q_lora_rank = 0;  // the query straight from the hidden state: 8 * 20
  EXPECT_EQ(layer_parameters(model, {}).sharded, 160 + 140 + 128 + 240);
}

TEST(Parameters, MultiTokenPredictionIsALayerAProjectionAndThreeNorms) {
  const Model model = small_llama();
  // 544 as above, 2h -> h: 128, three norms of 8.
  EXPECT_EQ(mtp_layer_parameters(model).total(), 544 + 128 + 24);
  Model predicting = model;
  predicting.mtp_num_layers = 1;
  EXPECT_EQ(total_parameters(predicting), total_parameters(model));
}

TEST(Parameters, TwoLinearsWithoutAttentionOrVocabulary) {
  Model toy;
  toy.num_layers = 1;
  toy.hidden_size = 10000;
  toy.ffn_hidden_size = 3200;
  toy.activation = Activation::relu;
  toy.normalization = Normalization::none;
  toy.position_embedding = PositionEmbedding::none;
  // Two matrices of 32,000,000, biases 3,200 and 10,000.
  EXPECT_EQ(total_parameters(toy), 64'013'200);
  EXPECT_EQ(layer_parameters(toy, {}).replicated, 10'000);
}

// Two numbers in each of three layers, which every tensor rank has.
TEST(Parameters, XieluHasTwoNumbersInEachLayer) {
  Model plain = gpt(3, 64, 4, 1000, 128);
  Model xielu = plain;
  xielu.activation = Activation::xielu;
  EXPECT_EQ(total_parameters(xielu), total_parameters(plain) + 3 * 2);
  EXPECT_EQ(layer_parameters(xielu, {}).replicated, layer_parameters(plain, {}).replicated + 2);
}

TEST(Parameters, VocabularyIsPaddedToAMultipleForEachTensorRank) {
  const Model gpt2 = gpt(1, 8, 2, 50257, 0);
  EXPECT_EQ(padded_vocab_size(gpt2, 128, 1), 50304);  // 393 * 128
  EXPECT_EQ(padded_vocab_size(gpt2, 128, 8), 51200);  // 50 * 1024
  EXPECT_EQ(padded_vocab_size(gpt(1, 8, 2, 51200, 0), 128, 8), 51200);
}

TEST(Parameters, ShapesBeyondAnyModelAreNotCountable) {
  EXPECT_TRUE(is_countable(gpt(128, 25600, 160, 51200, 2048)));
  Model huge = gpt(100'000, 1'000'000, 1, 1, 1);  // 12 * 10^5 * 10^12
  EXPECT_FALSE(is_countable(huge));
}

}  // namespace
}  // namespace meshwright
