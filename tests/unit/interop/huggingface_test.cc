// SPDX-License-Identifier: Apache-2.0
#include "interop/huggingface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/model/parameters.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::HasSubstr;
using testing::Not;

Json small_llama() {
  return Json::parse(R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
                         "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 100})");
}
Json with(Json config, const std::string& key, const Json& value) {
  config[key] = value;
  return config;
}
Json typed(const std::string& type) { return with(small_llama(), "model_type", type); }
Model read_config(const Json& config) {
  return model_from_huggingface(config, "shapes/small.json");
}

std::string config_error(const Json& config) {
  return error_and_hint_of([&] { read_config(config); });
}

TEST(HuggingFace, AbsentKeyValueHeadsMeansOneForEachHead) {
  EXPECT_EQ(read_config(small_llama()).num_query_groups, 8);
  EXPECT_EQ(read_config(with(small_llama(), "num_key_value_heads", nullptr)).num_query_groups, 8);
  EXPECT_EQ(read_config(with(small_llama(), "num_key_value_heads", 2)).num_query_groups, 2);
}

TEST(HuggingFace, HeadDimOverridesHiddenOverHeads) {
  EXPECT_EQ(read_config(small_llama()).kv_channels, 8);  // 64 / 8
  EXPECT_EQ(read_config(with(small_llama(), "head_dim", 16)).kv_channels, 16);
}

TEST(HuggingFace, AbsentKeysTakeTheClassDefaultOfTheirType) {
  EXPECT_FALSE(read_config(small_llama()).tied_embeddings);
  EXPECT_TRUE(read_config(typed("gemma2")).tied_embeddings);
  EXPECT_EQ(read_config(typed("mistral")).sliding_window, 4096);
  EXPECT_EQ(read_config(with(typed("mistral"), "sliding_window", nullptr)).sliding_window, 0);
  EXPECT_TRUE(read_config(typed("qwen2")).add_qkv_bias);
  EXPECT_TRUE(read_config(typed("qwen3")).qk_layernorm);
}

TEST(HuggingFace, QwenIgnoresItsWindowUntilToldToUseIt) {
  const Json config = with(typed("qwen2"), "sliding_window", 32);
  EXPECT_EQ(read_config(config).sliding_window, 0);
  const Json used = with(config, "use_sliding_window", true);
  EXPECT_EQ(read_config(with(used, "max_window_layers", 0)).sliding_window, 32);
  EXPECT_EQ(read_config(with(used, "max_window_layers", 4)).sliding_window, 0);
  EXPECT_THAT(config_error(with(used, "max_window_layers", 2)), HasSubstr("/max_window_layers"));
}

TEST(HuggingFace, LayerTypesGiveTheWindowPattern) {
  // One letter a layer: s for sliding_attention, f for full_attention.
  const auto types = [](std::string_view letters) {
    Json words = Json::array();
    for (const char c : letters) words.push_back(c == 's' ? "sliding_attention" : "full_attention");
    return words;
  };
  const Model alternating = read_config(with(typed("gemma2"), "layer_types", types("sfsf")));
  EXPECT_TRUE(layer_kind(alternating, 0).sliding_window);
  EXPECT_FALSE(layer_kind(alternating, 1).sliding_window);
  const Model full = read_config(with(typed("gemma2"), "layer_types", types("ffff")));
  EXPECT_EQ(full.sliding_window, 0);
  EXPECT_EQ(
      read_config(with(typed("gemma2"), "layer_types", types("ssss"))).sliding_window_interval, 1);
  EXPECT_THAT(config_error(with(typed("gemma2"), "layer_types", types("fssf"))),
              HasSubstr("/layer_types: entry 1"));
  EXPECT_THAT(config_error(with(typed("gemma2"), "layer_types", types("sf"))),
              HasSubstr("4 entries"));
}

TEST(HuggingFace, GemmaThreeHasFiveWindowedLayersForEachFullOne) {
  // gemma-3-1b: attention 2*1152*1024 + 2*1152*256 = 2,949,120; MLP 3*1152*6912 = 23,887,872; norms
  // 4*1152 + 2*256 = 5,120; 26 layers of 26,842,112 and 262144*1152 + 1152 = 999,885,952.
  const Model model = read_config(Json::parse(
      R"({"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912,
          "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1,
          "head_dim": 256, "vocab_size": 262144, "sliding_window": 512})"));
  EXPECT_EQ(total_parameters(model), 999'885'952);
  EXPECT_TRUE(layer_kind(model, 4).sliding_window);
  EXPECT_FALSE(layer_kind(model, 5).sliding_window);
}

TEST(HuggingFace, MultimodalConfigsNestTheLanguageModel) {
  Json config = with(Json::parse(R"({"model_type": "llava"})"), "text_config", small_llama());
  EXPECT_TRUE(looks_like_huggingface(config));
  EXPECT_EQ(read_config(config).hidden_size, 64);
  config["text_config"].erase("vocab_size");
  EXPECT_THAT(config_error(config), HasSubstr("/text_config/vocab_size"));
}

TEST(HuggingFace, KeysThatNoPlannerNeedsArePassedOver) {
  Json config = with(small_llama(), "rope_parameters", Json::parse(R"({"rope_theta": 10000.0})"));
  config["dtype"] = "bfloat16";
  config["quantization_config"] = Json::parse(R"({"quant_method": "fp8"})");
  EXPECT_EQ(read_config(config), read_config(small_llama()));
}

TEST(HuggingFace, NameIsTheRepositoryOrTheFileOrItsFolder) {
  EXPECT_EQ(read_config(small_llama()).name, "small");
  EXPECT_EQ(read_config(with(small_llama(), "_name_or_path", "meta/llama")).name, "meta/llama");
  EXPECT_EQ(model_from_huggingface(small_llama(), "models/llama-x/config.json").name, "llama-x");
}

TEST(HuggingFace, UnknownTypeNamesTheKnownOnesAndTheKeysOfAPlainBlock) {
  const std::string error = config_error(typed("llama4"));
  EXPECT_THAT(error, HasSubstr("/model_type: \"llama4\" is not known"));
  EXPECT_THAT(error, HasSubstr("gpt_neox"));
  EXPECT_THAT(error, HasSubstr("these keys would make it a plain block: hidden_size"));
  EXPECT_THAT(error, Not(HasSubstr("use \"")));
}

TEST(HuggingFace, WhatModelCannotExpressIsRefused) {
  EXPECT_THAT(config_error(with(small_llama(), "attention_bias", true)), HasSubstr("/mlp_bias"));
  EXPECT_THAT(config_error(with(small_llama(), "hidden_act", "relu2")), HasSubstr("/hidden_act"));
  EXPECT_THAT(config_error(with(small_llama(), "num_key_value_heads", 3)), HasSubstr("divide"));
  EXPECT_THAT(config_error(with(small_llama(), "num_attention_heads", 7)),
              HasSubstr("/num_attention_heads"));
  EXPECT_THAT(config_error(with(small_llama(), "hidden_size", 0)), HasSubstr("/hidden_size"));
  EXPECT_THAT(config_error(with(small_llama(), "hidden_size", "64")), HasSubstr("/hidden_size"));
  EXPECT_THAT(config_error(with(small_llama(), "vocab_size", 1e30)), HasSubstr("/vocab_size"));
  EXPECT_THAT(config_error(with(typed("qwen3"), "attention_bias", true)),
              HasSubstr("/attention_bias"));
}

TEST(HuggingFace, SparseStepPutsExpertsInEveryNthLayerFromTheNth) {
  Json config = typed("qwen3_moe");
  config["num_experts"] = 4;
  config["num_experts_per_tok"] = 2;
  config["moe_intermediate_size"] = 32;
  config["head_dim"] = 8;
  config["decoder_sparse_step"] = 2;
  const auto expert_layers = [](const Model& model) {
    std::string layers;
    for (int i = 0; i < model.num_layers; ++i) {
      layers += layer_kind(model, i).mixture_of_experts ? 'x' : '-';
    }
    return layers;
  };
  EXPECT_EQ(expert_layers(read_config(config)), "-x-x");
  EXPECT_EQ(expert_layers(read_config(with(config, "mlp_only_layers", Json::parse("[0, 1]")))),
            "---x");
  EXPECT_THAT(config_error(with(config, "mlp_only_layers", Json::parse("[2]"))),
              HasSubstr("/mlp_only_layers"));
}

TEST(HuggingFace, FalconOfTheFirstKindSharesOneKeyAndOneNorm) {
  Json config = typed("falcon");
  const Model model = read_config(config);
  EXPECT_EQ(model.num_query_groups, 1);
  EXPECT_TRUE(model.parallel_shared_layer_norm);
  config["new_decoder_architecture"] = true;
  config["num_kv_heads"] = 2;
  EXPECT_EQ(read_config(config).num_query_groups, 2);
  EXPECT_FALSE(read_config(config).parallel_shared_layer_norm);
}

// 2 layers of h = 64: attention 4 h^2 = 16,384, MLP 2 x 64 x 256 = 32,768, two norms 4 h = 256;
// embedding and head 2 x 100 x 64 = 12,800, the last norm 128.
TEST(HuggingFace, NemotronHasAPlainMlpWithoutBiases) {
  const Model m = model_from_huggingface(
      Json::parse(R"({"model_type": "nemotron", "hidden_size": 64, "vocab_size": 100,
          "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4})"),
      "config.json");
  EXPECT_EQ(m.activation, Activation::relu);
  EXPECT_EQ(total_parameters(m), 2 * (16384 + 32768 + 256) + 12800 + 128);
}

TEST(HuggingFace, OurOwnSchemaIsNotMistaken) {
  EXPECT_TRUE(looks_like_huggingface(small_llama()));
  EXPECT_FALSE(looks_like_huggingface(Json::parse(R"({"schema": "meshwright.model/1"})")));
  EXPECT_FALSE(looks_like_huggingface(Json::array()));
}

}  // namespace
}  // namespace meshwright::interop
