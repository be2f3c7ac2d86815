// SPDX-License-Identifier: Apache-2.0
// Families behind an indexer, as released and as transformers 5.23 saves them, and keys of 5.23.
// Counts are the classes' own; a router's bias is a buffer there and counts here.
#include <gtest/gtest.h>

#include <string>

#include "interop/huggingface.h"
#include "sim/block/parameters.h"
#include "sim/record/json.h"

namespace meshwright::interop {
namespace {

Model of(const std::string& text, const std::string& more = "{}") {
  Json config = Json::parse(text);
  config.update(Json::parse(more));
  return model_from_huggingface(config, "model.json");
}

const std::string kGlm = R"({"model_type": "glm_moe_dsa", "hidden_size": 6144,
    "intermediate_size": 12288, "num_attention_heads": 64, "num_hidden_layers": 78,
    "num_key_value_heads": 64, "kv_lora_rank": 512, "q_lora_rank": 2048, "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64, "v_head_dim": 256, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "first_k_dense_replace": 3,
    "index_n_heads": 32, "index_head_dim": 128, "vocab_size": 154880})";

// 75 layers with 256 router biases. GLM-5.2: 21 of 78 layers have an indexer.
TEST(HuggingFaceSparse, IndexersAreSharedByTurnsOrByAList) {
  EXPECT_EQ(total_parameters(of(kGlm)), 743'911'199'232 + 75 * 256);
  const Model turns = of(kGlm, R"({"index_topk_freq": 4, "index_skip_topk_offset": 3})");
  EXPECT_EQ(total_parameters(turns), 743'377'000'704 + 75 * 256);
  Json types = Json::array();
  std::string letters;
  for (const char letter : turns.hybrid_layer_pattern) {
    types.push_back(letter == 'a' ? "full" : "shared");
    letters += letter == 'a' ? 'F' : 'S';
  }
  EXPECT_TRUE(of(kGlm, Json{{"indexer_types", types}}.dump()) == turns);
  EXPECT_TRUE(of(kGlm, Json{{"index_topk_pattern", letters}}.dump()) == turns);
}

const std::string kV4 = R"({"model_type": "deepseek_v4", "hidden_size": 4096, "head_dim": 512,
    "num_attention_heads": 64, "num_key_value_heads": 1, "num_hidden_layers": 43,
    "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 6, "vocab_size": 129280, "hc_mult": 4})";

// DeepSeek-V4-Flash: 2 layers of the window, 21 sparse and 20 heavy ones.
TEST(HuggingFaceSparse, DeepSeekV4IsTheSameByRatiosAndWords) {
  Json ratios = {0, 0}, words = {"sliding_attention", "sliding_attention"};
  for (int i = 2; i < 43; ++i) {
    ratios.push_back(i % 2 == 0 ? 4 : 128);
    words.push_back(i % 2 == 0 ? "compressed_sparse_attention" : "heavily_compressed_attention");
  }
  ratios.push_back(0);  // the layer of multi-token prediction
  const Model released = of(kV4, Json{{"compress_ratios", ratios}}.dump());
  EXPECT_EQ(total_parameters(released), 284'332'230'231 + 43 * 256);
  EXPECT_TRUE(of(kV4, Json{{"layer_types", words}}.dump()) == released);
}

// MiniMax-M3: 57 of 60 layers are sparse; the released file has no type inside.
TEST(HuggingFaceSparse, MiniMaxM3NestsItsSparseLayers) {
  Json sparse = Json::array();
  for (int i = 0; i < 60; ++i) sparse.push_back(i < 3 ? 0 : 1);
  const Json text = {
      {"hidden_size", 6144},      {"intermediate_size", 3072},
      {"num_hidden_layers", 60},  {"num_attention_heads", 64},
      {"num_key_value_heads", 4}, {"head_dim", 128},
      {"vocab_size", 200064},     {"hidden_act", "swigluoai"},
      {"num_local_experts", 128}, {"num_experts_per_tok", 4},
      {"moe_layer_freq", sparse}, {"sparse_attention_config", {{"sparse_attention_freq", sparse}}}};
  const Json config = {{"model_type", "minimax_m3_vl"}, {"text_config", text}};
  EXPECT_EQ(total_parameters(model_from_huggingface(config, "model.json")),
            426'174'565'632 + 57 * 128);
}

// transformers 5 writes the flag of the outer class, and the inner class's default.
TEST(HuggingFaceSparse, TheHeadIsTiedAsTheOuterFileSays) {
  const Json text = {{"model_type", "qwen3_vl_text"}, {"hidden_size", 64},
                     {"intermediate_size", 128},      {"num_hidden_layers", 2},
                     {"num_attention_heads", 4},      {"vocab_size", 100},
                     {"tie_word_embeddings", true}};
  const Json config = {
      {"model_type", "qwen3_vl"}, {"tie_word_embeddings", false}, {"text_config", text}};
  EXPECT_FALSE(model_from_huggingface(config, "model.json").tied_embeddings);
}

// GLM-4.7-Flash lists its dense layers, by default one; dots.llm1 has its window from layer 62 on,
// which it lacks.
TEST(HuggingFaceSparse, KeysOfFiveAreRead) {
  const std::string latent = R"({"hidden_size": 64, "intermediate_size": 128,
      "num_attention_heads": 4, "num_hidden_layers": 3, "vocab_size": 100, "kv_lora_rank": 16,
      "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32})";
  const Model lite = of(latent, R"({"model_type": "glm4_moe_lite",
      "mlp_layer_types": ["dense", "dense", "sparse"]})");
  EXPECT_EQ(lite.moe->num_first_dense_layers, 2);
  const Model dots = of(latent, R"({"model_type": "dots1", "sliding_window": 4096,
      "max_window_layers": 62})");
  EXPECT_EQ(dots.sliding_window, 0);
}

}  // namespace
}  // namespace meshwright::interop
