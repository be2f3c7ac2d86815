// SPDX-License-Identifier: Apache-2.0
// Shapes of published models, typed from their config.json, against the number of parameters that
// their checkpoints hold, to the unit.
//
// `stored` is the published integer: the sum of the tensors in the checkpoint's safetensors headers
// or the model card's table (GPT-NeoX), 0 where none is known to us. `total` is what the
// configuration describes. They differ for Falcon alone: its class ties the head to the embedding,
// yet its files hold lm_head again. Llama-2-70B's file holds 68,976,653,312 numbers: 80 layers of
// 64 rotary frequencies (5,120) are no parameters. `active`: experts that one token passes, with
// both embeddings; 0 for dense models. GPT-2 and OPT, Gemma 2, BLOOM tie without a key that says
// so; DeepSeek-V3 counts without its multi-token-prediction layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string_view>

#include "interop/huggingface.h"
#include "sim/base/error.h"
#include "sim/json/records.h"
#include "sim/model/parameters.h"
#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

struct Published {
  std::string_view name;
  std::string_view config;
  std::int64_t stored;
  std::int64_t total;
  std::int64_t active;
};

// clang-format off
constexpr Published kPublished[] = {
    {"llama-2-7b",
     R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
             "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
             "vocab_size": 32000})",
     6'738'415'616, 6'738'415'616, 0},
    {"starcoder2-3b",
     R"({"model_type": "starcoder2", "hidden_size": 3072, "intermediate_size": 12288,
             "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2,
             "use_bias": true, "sliding_window": 4096, "vocab_size": 49152})",
     3'030'371'328, 3'030'371'328, 0},
    {"command-r",
     R"({"model_type": "cohere", "hidden_size": 8192, "intermediate_size": 22528,
             "num_hidden_layers": 40, "num_attention_heads": 64, "num_key_value_heads": 64,
             "logit_scale": 0.0625, "vocab_size": 256000})",
     34'980'831'232, 34'980'831'232, 0},
    {"mpt-7b",
     R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4,
             "max_seq_len": 2048, "no_bias": true, "attn_config": {"alibi": true},
             "vocab_size": 50432})",
     6'649'286'656, 6'649'286'656, 0},
    {"llama-2-13b",
     R"({"model_type": "llama", "hidden_size": 5120, "intermediate_size": 13824,
             "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 40,
             "vocab_size": 32000})",
     13'015'864'320, 13'015'864'320, 0},
    {"llama-2-70b",
     R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
             "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
             "vocab_size": 32000})",
     0, 68'976'648'192, 0},
    {"llama-3-8b",
     R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
             "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
             "vocab_size": 128256})",
     8'030'261'248, 8'030'261'248, 0},
    {"llama-3.1-70b",
     R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
             "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
             "vocab_size": 128256})",
     70'553'706'496, 70'553'706'496, 0},
    {"llama-3.1-405b",
     R"({"model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248,
             "num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads": 8,
             "vocab_size": 128256})",
     405'853'388'800, 405'853'388'800, 0},
    {"llama-3.2-1b",
     R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
             "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
             "vocab_size": 128256, "tie_word_embeddings": true, "head_dim": 64})",
     0, 1'235'814'400, 0},
    {"mistral-7b-v0.1",
     R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
             "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
             "vocab_size": 32000})",
     7'241'732'096, 7'241'732'096, 0},
    {"mixtral-8x7b",
     R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
             "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
             "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2})",
     46'702'792'704, 46'702'792'704, 12'879'925'248},
    {"mixtral-8x22b",
     R"({"model_type": "mixtral", "hidden_size": 6144, "intermediate_size": 16384,
             "num_hidden_layers": 56, "num_attention_heads": 48, "num_key_value_heads": 8,
             "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2})",
     140'620'634'112, 140'620'634'112, 39'152'031'744},
    {"qwen2.5-7b",
     R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
             "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
             "vocab_size": 152064})",
     7'615'616'512, 7'615'616'512, 0},
    {"qwen2.5-72b",
     R"({"model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 29568,
             "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
             "vocab_size": 152064})",
     72'706'203'648, 72'706'203'648, 0},
    {"qwen3-8b",
     R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288,
             "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
             "vocab_size": 151936, "head_dim": 128})",
     8'190'735'360, 8'190'735'360, 0},
    {"qwen3-32b",
     R"({"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600,
             "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
             "vocab_size": 151936, "head_dim": 128})",
     0, 32'762'123'264, 0},
    {"qwen3-30b-a3b",
     R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
             "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4,
             "vocab_size": 151936, "moe_intermediate_size": 768, "head_dim": 128,
             "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1})",
     0, 30'532'122'624, 3'353'032'704},
    {"qwen3-235b-a22b",
     R"({"model_type": "qwen3_moe", "hidden_size": 4096, "intermediate_size": 12288,
             "num_hidden_layers": 94, "num_attention_heads": 64, "num_key_value_heads": 4,
             "vocab_size": 151936, "moe_intermediate_size": 1536, "head_dim": 128,
             "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1})",
     235'093'634'560, 235'093'634'560, 22'190'763'520},
    {"deepseek-v3",
     R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
             "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
             "vocab_size": 129280, "moe_intermediate_size": 2048, "n_routed_experts": 256,
             "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
             "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
             "qk_rope_head_dim": 64, "v_head_dim": 128, "num_nextn_predict_layers": 1,
             "n_group": 8, "topk_group": 4})",
     671'026'419'200, 671'026'419'200, 37'552'297'472},
    {"glm-4.5",
     R"({"model_type": "glm4_moe", "hidden_size": 5120, "intermediate_size": 12288,
             "num_hidden_layers": 92, "num_attention_heads": 96, "num_key_value_heads": 8,
             "head_dim": 128, "vocab_size": 151552, "attention_bias": true, "use_qk_norm": true,
             "moe_intermediate_size": 1536, "n_routed_experts": 160, "n_shared_experts": 1,
             "num_experts_per_tok": 8, "first_k_dense_replace": 3, "n_group": 1, "topk_group": 1,
             "num_nextn_predict_layers": 1})",
     0, 352'797'829'024, 0},
    {"gpt2-xl",
     R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25,
             "n_positions": 1024, "vocab_size": 50257})",
     1'557'611'200, 1'557'611'200, 0},
    {"gpt-neox-20b",
     R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576,
             "num_hidden_layers": 44, "num_attention_heads": 64, "vocab_size": 50432})",
     20'554'567'680, 20'554'567'680, 0},
    {"opt-66b",
     R"({"model_type": "opt", "hidden_size": 9216, "ffn_dim": 36864,
             "num_hidden_layers": 64, "num_attention_heads": 72, "word_embed_proj_dim": 9216,
             "vocab_size": 50272, "max_position_embeddings": 2048})",
     0, 65'719'701'504, 0},
    {"opt-175b",
     R"({"model_type": "opt", "hidden_size": 12288, "ffn_dim": 49152,
             "num_hidden_layers": 96, "num_attention_heads": 96, "word_embed_proj_dim": 12288,
             "vocab_size": 50272, "max_position_embeddings": 2048})",
     0, 174'604'468'224, 0},
    {"bloom-176b",
     R"({"model_type": "bloom", "hidden_size": 14336, "n_layer": 70,
             "num_attention_heads": 112, "vocab_size": 250880})",
     176'247'271'424, 176'247'271'424, 0},
    {"falcon-40b",
     R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
             "num_attention_heads": 128, "num_kv_heads": 8, "vocab_size": 65024,
             "new_decoder_architecture": true})",
     41'835'970'560, 41'303'293'952, 0},
    {"falcon-180b",
     R"({"model_type": "falcon", "hidden_size": 14848, "num_hidden_layers": 80,
             "num_attention_heads": 232, "num_kv_heads": 8, "vocab_size": 65024,
             "new_decoder_architecture": true})",
     179'522'565'120, 178'557'088'768, 0},
    {"gemma-2-27b",
     R"({"model_type": "gemma2", "hidden_size": 4608, "intermediate_size": 36864,
             "num_hidden_layers": 46, "num_attention_heads": 32, "num_key_value_heads": 16,
             "head_dim": 128, "vocab_size": 256000})",
     27'227'128'320, 27'227'128'320, 0},
    {"phi-3-mini",
     R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192,
             "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
             "vocab_size": 32064})",
     3'821'079'552, 3'821'079'552, 0},
    {"gpt-oss-120b",
     R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
             "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8,
             "head_dim": 64, "num_local_experts": 128, "num_experts_per_tok": 4,
             "vocab_size": 201088})",
     116'829'156'672, 116'829'156'672, 5'711'982'912},
    {"olmo-2-7b",
     R"({"model_type": "olmo2", "hidden_size": 4096, "intermediate_size": 11008,
             "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
             "tie_word_embeddings": false, "vocab_size": 100352})",
     7'298'617'344, 7'298'617'344, 0},
    {"olmo-2-13b",
     R"({"model_type": "olmo2", "hidden_size": 5120, "intermediate_size": 13824,
             "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 40,
             "tie_word_embeddings": false, "vocab_size": 100352})",
     13'716'198'400, 13'716'198'400, 0},
    // 32 layers have two numbers of xIELU each, 64 in all; beta and eps are buffers.
    {"apertus-8b",
     R"({"model_type": "apertus", "hidden_size": 4096, "intermediate_size": 21504,
             "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
             "hidden_act": "xielu", "qk_norm": true, "vocab_size": 131072})",
     8'053'338'176, 8'053'338'176, 0},
    // No integer is published that we know: 64 layers of 2 x 12288^2 + 2 x 12288 x 1024 (attention), 3 x 12288 x 33792
    // (MLP), 12288 (norm) and 12288 + 1024 (norms of each head); 256000 x 12288 and a norm.
    {"command-r-plus",
     R"({"model_type": "cohere", "hidden_size": 12288, "intermediate_size": 33792,
             "num_hidden_layers": 64, "num_attention_heads": 96, "num_key_value_heads": 8,
             "use_qk_norm": true, "vocab_size": 256000})",
     0, 103'810'674'688, 0},
};
// clang-format on

Model read(const Published& published) {
  return model_from_huggingface(Json::parse(published.config),
                                std::string(published.name) + ".json");
}

TEST(HuggingFacePublished, ParametersEqualThePublishedIntegers) {
  for (const Published& published : kPublished) {
    SCOPED_TRACE(published.name);
    const Model model = read(published);
    EXPECT_EQ(model.name, published.name);
    EXPECT_EQ(total_parameters(model), published.total);
    const bool head_stored_twice = published.name.starts_with("falcon");
    const std::int64_t extra =
        head_stored_twice ? std::int64_t{model.vocab_size} * model.hidden_size : 0;
    if (published.stored == 0) continue;
    EXPECT_EQ(total_parameters(model) + extra, published.stored);
  }
}

TEST(HuggingFacePublished, FalconUntiedHasWhatItsFilesHold) {
  // 40B: 65024 * 8192 = 532,676,608 more than tied.
  for (const Published& published : kPublished) {
    if (!published.name.starts_with("falcon")) continue;
    Model model = read(published);
    EXPECT_TRUE(model.tied_embeddings);
    model.tied_embeddings = false;
    EXPECT_EQ(total_parameters(model), published.stored);
  }
}

TEST(HuggingFacePublished, ActiveParametersCountTheChosenExperts) {
  for (const Published& published : kPublished) {
    SCOPED_TRACE(published.name);
    const Model model = read(published);
    if (model.moe && published.active == 0) continue;  // nobody states it to the parameter
    EXPECT_EQ(active_parameters(model), published.active > 0 ? published.active : published.total);
  }
}

// The shipped model was typed from the same file by hand.
TEST(HuggingFacePublished, Llama4IsTheShippedModel) {
  const auto config = Json::parse(R"({"model_type": "llama4", "text_config": {
      "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
      "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
      "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 128,
      "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "attention_chunk_size": 8192,
      "max_position_embeddings": 1048576, "hidden_act": "silu", "tie_word_embeddings": false,
      "vocab_size": 202048}})");
  Model read = model_from_huggingface(config, "llama-4-maverick.json");
  std::ifstream file(std::string(MESHWRIGHT_SOURCE_DIR) + "/configs/models/llama-4-maverick.json");
  EXPECT_TRUE(read == model_from_json(Json::parse(file), "shipped"));
  EXPECT_THAT(not_modelled_of_huggingface(config), testing::HasSubstr("chunks"));
}

std::string refusal_of(const char* config) {
  return error_of([&] { model_from_huggingface(Json::parse(config), "nemotron-h.json"); });
}

TEST(HuggingFacePublished, NemotronHSaysWhatIsNotModelled) {
  const std::string why =
      refusal_of(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M-M-M*-M-"})");
  EXPECT_THAT(why, testing::HasSubstr("of 11 blocks 5 are Mamba-2 layers, 1 attention, 5 MLPs, 0"));
  EXPECT_THAT(why, testing::HasSubstr("not modelled are the Mamba-2 layers (state-space scan"));
  EXPECT_THAT(why, testing::HasSubstr("attention or an MLP alone"));
  EXPECT_THAT(why, testing::Not(testing::HasSubstr("experts alone")));
}

// As transformers 5 writes it, with experts (Nemotron 3).
TEST(HuggingFacePublished, NemotronHOfTransformers5NamesItsBlocks) {
  const std::string why = refusal_of(R"({"model_type": "nemotron_h", "moe_latent_size": 1024,
      "layers_block_type": ["mamba", "moe", "mamba", "moe", "attention", "moe"]})");
  EXPECT_THAT(why, testing::HasSubstr("/layers_block_type"));
  EXPECT_THAT(why, testing::HasSubstr("of 6 blocks 2 are Mamba-2 layers, 1 attention, 0 MLPs, 3"));
  EXPECT_THAT(why, testing::HasSubstr("experts alone; experts behind a projection"));
}

}  // namespace
}  // namespace meshwright::interop
