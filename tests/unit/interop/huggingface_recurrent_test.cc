// SPDX-License-Identifier: Apache-2.0
// The same model as released, and as transformers 5.23 saves it again: other words and other keys.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "interop/huggingface.h"
#include "sim/block/parameters.h"
#include "sim/record/json.h"

namespace meshwright::interop {
namespace {

// One word a letter of `pattern`.
Json words_of(std::string_view pattern, const Json& words) {
  Json list = Json::array();
  for (const char letter : pattern) list.push_back(words.at(std::string(1, letter)));
  return list;
}

Model read(Json config, const std::string& text) {
  config.update(Json::parse(text));
  return model_from_huggingface(config, "model.json");
}

const Json kOlder = {{"m", "mamba"},     {"a", "attention"}, {"M", "mamba"},
                     {"*", "attention"}, {"-", "mlp"},       {"E", "moe"}};
const Json kSaved = {{"m", "linear_attention"},
                     {"a", "full_attention"},
                     {"M", "linear_attention"},
                     {"*", "full_attention"},
                     {"-", "mlp"},
                     {"E", "moe"}};

// Granite 4.0 H Small: 36 of 40 layers are Mamba-2.
TEST(HuggingFaceRecurrent, GraniteSavedAgainKeepsItsStateSpaces) {
  const std::string pattern = "mmmmmammmmmmmmmammmmmmmmmammmmmmmmmammmm";
  const std::string text = R"({"model_type": "granitemoehybrid", "hidden_size": 4096,
      "intermediate_size": 768, "shared_intermediate_size": 1536, "mamba_d_state": 128,
      "num_attention_heads": 32, "num_experts_per_tok": 10, "num_hidden_layers": 40,
      "num_key_value_heads": 8, "num_local_experts": 72, "position_embedding_type": "nope",
      "tie_word_embeddings": true, "vocab_size": 100352})";
  const Model released = read({{"layer_types", words_of(pattern, kOlder)}}, text);
  const Model saved = read({{"layer_types", words_of(pattern, kSaved)},
                            {"time_step_limit", {0.0, {{"__float__", "Infinity"}}}}},
                           text);
  EXPECT_EQ(total_parameters(released), 32'207'337'984);
  EXPECT_TRUE(saved == released);
  EXPECT_EQ(released.hybrid_layer_pattern, pattern);
}

// Nemotron-H lists blocks of one part; transformers 4 wrote letters.
TEST(HuggingFaceRecurrent, NemotronIsTheSameInLettersAndWords) {
  const std::string pattern = "M-M-M*-ME";
  const std::string text = R"({"model_type": "nemotron_h", "hidden_size": 256,
      "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
      "mamba_num_heads": 8, "n_routed_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 64, "moe_shared_expert_intermediate_size": 96,
      "moe_latent_size": 32, "vocab_size": 1000})";
  const Model letters =
      read({{"hybrid_override_pattern", pattern}, {"num_hidden_layers", 9}}, text);
  EXPECT_TRUE(read({{"layers_block_type", words_of(pattern, kOlder)}}, text) == letters);
  EXPECT_TRUE(read({{"layers_block_type", words_of(pattern, kSaved)}}, text) == letters);
  EXPECT_EQ(letters.moe->moe_latent_size, 32);
  EXPECT_EQ(letters.num_layers, 9);
}

// Kimi-Linear: layers are counted from 1, and saved again as words; experts by mlp_layer_types.
TEST(HuggingFaceRecurrent, KimiLinearIsTheSameByListAndByWords) {
  const std::string text = R"({"model_type": "kimi_linear", "hidden_size": 256,
      "intermediate_size": 512, "kv_lora_rank": 64, "q_lora_rank": null, "qk_nope_head_dim": 32,
      "qk_rope_head_dim": 16, "v_head_dim": 32, "moe_intermediate_size": 64,
      "num_attention_heads": 4, "num_experts": 8, "num_experts_per_token": 2,
      "num_hidden_layers": 5, "num_shared_experts": 1, "vocab_size": 1000})";
  const Model released = read(Json::parse(R"({"first_k_dense_replace": 1, "linear_attn_config": {
      "full_attn_layers": [4], "kda_layers": [1, 2, 3, 5], "num_heads": 4, "head_dim": 32,
      "short_conv_kernel_size": 4}})"),
                              text);
  const Model saved = read({{"layer_types", words_of("mmmam", kSaved)},
                            {"mlp_layer_types", {"dense", "sparse", "sparse", "sparse", "sparse"}},
                            {"linear_num_heads", 4},
                            {"linear_head_dim", 32}},
                           text);
  EXPECT_TRUE(saved == released);
  EXPECT_EQ(released.hybrid_layer_pattern, "mmmam");
  EXPECT_EQ(released.moe->num_first_dense_layers, 1);
}

}  // namespace
}  // namespace meshwright::interop
