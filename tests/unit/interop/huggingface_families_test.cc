// SPDX-License-Identifier: Apache-2.0
// One model of each family, its shape typed from its config.json, against the parameters that its
// model card or paper states, in billions. The last digit stated is the tolerance: 3.08 holds
// 3.075 to 3.085. Without embeddings of images and sound, and without multi-token prediction.
#include "interop/huggingface_families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "interop/huggingface.h"
#include "sim/json/input_records.h"
#include "sim/model/parameters.h"
#include "sim/record/json.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

struct Stated {
  std::string_view name;
  std::string_view config;
  double billions;
  double last_digit;
  double active = 0.0;  // billions; 0: not stated, or dense
};

// clang-format off
constexpr Stated kStated[] = {
    {"SmolLM3-3B", R"({"model_type": "smollm3", "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
        "num_attention_heads": 16, "num_key_value_heads": 4, "no_rope_layer_interval": 4, "sliding_window": null,
        "use_sliding_window": false, "tie_word_embeddings": true, "vocab_size": 128256})", 3.08, 0.01},
    {"Seed-OSS-36B", R"({"model_type": "seed_oss", "attention_bias": true, "attention_out_bias": false, "head_dim": 128,
        "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 80,
        "num_key_value_heads": 8, "vocab_size": 155136})", 36.2, 0.1},
    {"OLMo-3-32B", R"({"model_type": "olmo3", "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
        "num_attention_heads": 40, "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size": 100278})", 32.2, 0.1},
    {"dots.llm1", R"({"model_type": "dots1", "first_k_dense_replace": 1, "hidden_size": 4096, "intermediate_size": 10944,
        "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "n_routed_experts": 128,
        "n_shared_experts": 2, "num_attention_heads": 32, "num_key_value_heads": 32, "num_experts_per_tok": 6,
        "num_hidden_layers": 62, "scoring_func": "noaux_tc", "vocab_size": 152064})", 142.0, 2.0, 14.0},
    {"ERNIE-4.5-21B-A3B", R"({"model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288,
        "num_attention_heads": 20, "num_key_value_heads": 4, "num_hidden_layers": 28, "moe_num_experts": 64,
        "moe_layer_start_index": 1, "moe_layer_end_index": 27, "moe_layer_interval": 1, "moe_intermediate_size": 1536,
        "moe_k": 6, "moe_num_shared_experts": 2, "tie_word_embeddings": true, "vocab_size": 103424})", 21.8, 0.1, 3.0},
    {"ERNIE-4.5-0.3B", R"({"model_type": "ernie4_5", "hidden_size": 1024, "intermediate_size": 3072, "head_dim": 128,
        "num_attention_heads": 16, "num_key_value_heads": 2, "num_hidden_layers": 18, "tie_word_embeddings": true,
        "vocab_size": 103424})", 0.36, 0.01},
    {"Hunyuan-A13B", R"({"model_type": "hunyuan_v1_moe", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 3072,
        "moe_intermediate_size": [3072, 3072], "moe_topk": [8, 8], "num_attention_heads": 32, "num_experts": 64,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "num_shared_expert": [1, 1], "tie_word_embeddings": true,
        "use_cla": false, "use_qk_norm": true, "vocab_size": 128167})", 80.4, 0.1, 13.0},
    {"Hunyuan-7B", R"({"model_type": "hunyuan_v1_dense", "head_dim": 128, "hidden_size": 4096, "intermediate_size": 14336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "tie_word_embeddings": true,
        "use_qk_norm": true, "vocab_size": 128167})", 7.5, 0.1},
    {"Ling-mini-2.0", R"({"model_type": "bailing_moe_v2", "num_hidden_layers": 20, "hidden_size": 2048,
        "intermediate_size": 5120, "first_k_dense_replace": 1, "moe_intermediate_size": 512,
        "moe_shared_expert_intermediate_size": 512, "num_shared_experts": 1, "num_experts": 256, "num_experts_per_tok": 8,
        "n_group": 8, "topk_group": 4, "moe_router_enable_expert_bias": true, "num_attention_heads": 16,
        "num_key_value_heads": 4, "head_dim": 128, "use_qk_norm": true, "vocab_size": 157184})", 16.3, 0.1, 1.4},
    {"MiMo-7B", R"({"model_type": "mimo", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "attention_bias": true,
        "num_nextn_predict_layers": 1, "vocab_size": 151680})", 7.6, 0.2},
    {"MiniMax-M2.5", R"({"model_type": "minimax_m2", "hidden_size": 3072, "intermediate_size": 1536,
        "num_hidden_layers": 62, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128,
        "num_local_experts": 256, "num_experts_per_tok": 8, "shared_intermediate_size": 0, "use_qk_norm": true,
        "qk_norm_type": "per_layer", "use_mtp": true, "num_mtp_modules": 3, "vocab_size": 200064})", 229.0, 1.0, 10.0},
    {"Qwen3-VL-235B", R"({"model_type": "qwen3_vl_moe", "tie_word_embeddings": false, "text_config": {
        "model_type": "qwen3_vl_moe_text", "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 4096,
        "intermediate_size": 12288, "mlp_only_layers": [], "moe_intermediate_size": 1536, "num_attention_heads": 64,
        "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 94, "num_key_value_heads": 4,
        "vocab_size": 151936}})", 235.0, 1.0, 22.0},
    {"Qwen3-VL-8B", R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text", "head_dim": 128,
        "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 151936}})", 8.2, 0.1},
    {"Qwen2-VL-7B", R"({"model_type": "qwen2_vl", "hidden_size": 3584, "intermediate_size": 18944,
        "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064})", 7.6, 0.1},
    {"Qwen2.5-VL-72B", R"({"model_type": "qwen2_5_vl", "hidden_size": 8192, "intermediate_size": 29568,
        "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 152064})", 72.7, 0.1},
    {"Qwen1.5-MoE-A2.7B", R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632,
        "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60,
        "num_experts_per_tok": 4, "decoder_sparse_step": 1, "num_hidden_layers": 24, "num_attention_heads": 16,
        "num_key_value_heads": 16, "vocab_size": 151936})", 14.3, 0.1, 2.7},
    {"Gemma-3-27B", R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "head_dim": 128,
        "hidden_size": 5376, "intermediate_size": 21504, "num_attention_heads": 32, "num_hidden_layers": 62,
        "num_key_value_heads": 16, "sliding_window": 1024}})", 27.0, 0.1},
    {"Gemma-3-4B", R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
        "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})", 3.88, 0.01},
    {"Gemma-7B", R"({"model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "vocab_size": 256000})", 8.54, 0.01},
    {"Gemma-2-27B", R"({"model_type": "gemma2", "hidden_size": 4608, "intermediate_size": 36864, "num_hidden_layers": 46,
        "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "vocab_size": 256000})", 27.2, 0.1},
    {"GLM-4-9B-0414", R"({"model_type": "glm4", "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "attention_bias": true,
        "vocab_size": 151552})", 9.4, 0.1},
    {"GLM-4-9B", R"({"model_type": "glm", "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "attention_bias": true,
        "vocab_size": 151552})", 9.4, 0.1},
    {"GLM-4.5-Air", R"({"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944,
        "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
        "attention_bias": true, "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "first_k_dense_replace": 1, "vocab_size": 151552})", 106.0, 2.0, 12.0},
    {"GLM-4.7-Flash", R"({"model_type": "glm4_moe_lite", "hidden_size": 2048, "intermediate_size": 10240,
        "num_hidden_layers": 47, "num_attention_heads": 20, "num_key_value_heads": 20, "q_lora_rank": 768,
        "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
        "moe_intermediate_size": 1536, "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4,
        "first_k_dense_replace": 1, "vocab_size": 154880})", 30.0, 2.0, 3.0},
    {"GLM-5", R"({"model_type": "glm_moe_dsa", "hidden_size": 6144, "intermediate_size": 12288,
        "num_hidden_layers": 78, "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 2048,
        "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "index_head_dim": 128,
        "index_n_heads": 32, "index_topk": 2048, "moe_intermediate_size": 2048, "n_routed_experts": 256,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1,
        "vocab_size": 154880})", 744.0, 2.0, 40.0},
    // 61 layers of DeepSeek-V3 (671.03) and 61 indexers of 1536 x 64 x 128 + 7168 x 128 + 256 + 7168 x 64 = 13,959,424.
    {"DeepSeek-V3.2", R"({"model_type": "deepseek_v32", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "index_head_dim": 128,
        "index_n_heads": 64, "index_topk": 2048, "moe_intermediate_size": 2048, "n_routed_experts": 256,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1,
        "vocab_size": 129280})", 671.88, 0.01, 37.0},
    {"Kimi-K2", R"({"model_type": "kimi_k2", "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
        "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_intermediate_size": 2048,
        "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
        "vocab_size": 163840})", 1026.0, 2.0, 32.0},
    {"DeepSeek-MoE-16B", R"({"model_type": "deepseek", "hidden_size": 2048, "intermediate_size": 10944,
        "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
        "first_k_dense_replace": 1, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16,
        "vocab_size": 102400})", 16.4, 0.1, 2.8},
    {"DeepSeek-V2", R"({"model_type": "deepseek_v2", "hidden_size": 5120, "intermediate_size": 12288,
        "num_hidden_layers": 60, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "moe_intermediate_size": 1536, "n_routed_experts": 160, "n_shared_experts": 2, "num_experts_per_tok": 6,
        "first_k_dense_replace": 1, "vocab_size": 102400})", 236.0, 1.0, 21.0},
    {"DeepSeek-V3", R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
        "first_k_dense_replace": 3, "vocab_size": 129280})", 671.0, 1.0, 37.0},
    {"Granite-3.3-8B", R"({"model_type": "granite", "hidden_size": 4096, "intermediate_size": 12800,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": true,
        "vocab_size": 49159})", 8.17, 0.01},
    {"Granite-3.1-3B-A800M", R"({"model_type": "granitemoe", "hidden_size": 1536, "intermediate_size": 512,
        "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "num_local_experts": 40,
        "num_experts_per_tok": 8, "tie_word_embeddings": true, "vocab_size": 49155})", 3.3, 0.1, 0.8},
    {"EXAONE-4.0-32B", R"({"model_type": "exaone4", "hidden_size": 5120, "intermediate_size": 27392,
        "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "sliding_window": 4096, "sliding_window_pattern": "LLLG", "vocab_size": 102400})", 32.0, 0.1},
    {"Ministral-8B", R"({"model_type": "ministral", "hidden_size": 4096, "intermediate_size": 12288, "head_dim": 128,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 131072})", 8.02, 0.01},
    {"Mistral-Small-3.1-24B", R"({"model_type": "mistral3", "text_config": {"model_type": "mistral", "hidden_size": 5120,
        "intermediate_size": 32768, "head_dim": 128, "num_hidden_layers": 40, "num_attention_heads": 32,
        "num_key_value_heads": 8, "sliding_window": null, "vocab_size": 131072}})", 23.6, 0.1},
    {"Mixtral-8x7B", R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8,
        "num_experts_per_tok": 2, "vocab_size": 32000})", 46.7, 0.1, 12.9},
    {"Llama-3.1-8B", R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256})", 8.03, 0.01},
    {"Llama-4-Maverick", R"({"model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
        "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
        "head_dim": 128, "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
        "vocab_size": 202048})", 400.0, 2.0, 17.0},
    {"Phi-4", R"({"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40,
        "num_attention_heads": 40, "num_key_value_heads": 10, "vocab_size": 100352})", 14.7, 0.1},
    {"Qwen2.5-7B", R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064})", 7.62, 0.01},
    {"Qwen3-8B", R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936})", 8.2, 0.1},
    {"Qwen3-30B-A3B", R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
        "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "moe_intermediate_size": 768,
        "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936})", 30.5, 0.1, 3.3},
    {"InternLM2.5-7B", R"({"model_type": "internlm2", "bias": false, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 92544})", 7.74, 0.01},
    {"InternLM3-8B", R"({"model_type": "internlm3", "hidden_size": 4096, "intermediate_size": 10240, "head_dim": 128,
        "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 2, "vocab_size": 128512})", 8.8, 0.1},
    {"StableLM-3B-4E1T", R"({"model_type": "stablelm", "hidden_size": 2560, "intermediate_size": 6912,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "use_qkv_bias": false,
        "vocab_size": 50304})", 2.8, 0.1},
    {"AFM-4.5B", R"({"model_type": "arcee", "hidden_size": 2560, "intermediate_size": 18432, "head_dim": 128,
        "hidden_act": "relu2", "num_hidden_layers": 36, "num_attention_heads": 20, "num_key_value_heads": 4,
        "vocab_size": 128004})", 4.6, 0.1},
    {"Nemotron-4-15B", R"({"model_type": "nemotron", "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 32, "num_attention_heads": 48, "num_key_value_heads": 8, "hidden_act": "relu2",
        "vocab_size": 256000})", 15.6, 0.1},
    {"MiniCPM-2B", R"({"model_type": "minicpm", "hidden_size": 2304, "intermediate_size": 5760, "num_hidden_layers": 40,
        "num_attention_heads": 36, "num_key_value_heads": 36, "vocab_size": 122753})", 2.7, 0.1},
    {"Command-R7B", R"({"model_type": "cohere2", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "logit_scale": 0.25, "sliding_window": 4096,
        "sliding_window_pattern": 4, "vocab_size": 256000})", 8.03, 0.01},
    {"Command-R", R"({"model_type": "cohere", "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40,
        "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 256000})", 35.0, 0.1},
    {"OLMoE-1B-7B", R"({"model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 16,
        "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64, "num_experts_per_tok": 8,
        "vocab_size": 50304})", 6.92, 0.01, 1.3},
    {"OLMo-2-7B", R"({"model_type": "olmo2", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352})", 7.3, 0.1},
    {"gpt-oss-20b", R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32,
        "num_experts_per_tok": 4, "vocab_size": 201088})", 20.9, 0.1, 3.6},
    {"Apertus-8B", R"({"model_type": "apertus", "hidden_size": 4096, "intermediate_size": 21504, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "xielu", "qk_norm": true,
        "vocab_size": 131072})", 8.05, 0.01},
    {"GPT-2", R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
        "vocab_size": 50257})", 0.124, 0.001},
    {"GPT-NeoX-20B", R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 44, "num_attention_heads": 64, "vocab_size": 50432})", 20.6, 0.1},
    {"OPT-30B", R"({"model_type": "opt", "hidden_size": 7168, "ffn_dim": 28672, "num_hidden_layers": 48,
        "num_attention_heads": 56, "word_embed_proj_dim": 7168, "vocab_size": 50272,
        "max_position_embeddings": 2048})", 30.0, 0.1},
    {"BLOOM-7B1", R"({"model_type": "bloom", "hidden_size": 4096, "n_layer": 30, "num_attention_heads": 32,
        "vocab_size": 250880})", 7.07, 0.01},
    {"Falcon-40B", R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
        "num_kv_heads": 8, "new_decoder_architecture": true, "vocab_size": 65024})", 41.3, 0.1},
    {"StarCoder2-15B", R"({"model_type": "starcoder2", "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 40, "num_attention_heads": 48, "num_key_value_heads": 4, "use_bias": true,
        "tie_word_embeddings": false, "vocab_size": 49152})", 16.0, 0.1},
    {"MPT-7B", R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4,
        "no_bias": true, "attn_config": {"alibi": true}, "vocab_size": 50432})", 6.65, 0.01},
    {"Granite-4.0-micro", R"({"model_type": "granitemoehybrid", "hidden_size": 2560, "intermediate_size": 8192,
        "shared_intermediate_size": 8192, "num_local_experts": 0, "layer_types": ["attention", "attention"],
        "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 8, "tie_word_embeddings": true,
        "vocab_size": 100352})", 3.4, 0.1},
};
// clang-format on

Model read(const Stated& stated) {
  return model_from_huggingface(Json::parse(stated.config), std::string(stated.name) + ".json");
}

std::string type_of(const Stated& stated) {
  const Json config = Json::parse(stated.config);
  return (config.contains("text_config") ? config["text_config"] : config)["model_type"]
      .get<std::string>();
}

TEST(HuggingFaceFamilies, ParametersAreThoseThatAreStated) {
  for (const Stated& stated : kStated) {
    const double billions = static_cast<double>(total_parameters(read(stated))) / 1e9;
    EXPECT_NEAR(billions, stated.billions, 0.5 * stated.last_digit + 1e-9) << stated.name;
  }
}

// Cards count the embedding and the head of an active token, one of them, or neither, and
// round.
TEST(HuggingFaceFamilies, ActiveParametersAreNearThoseThatAreStated) {
  for (const Stated& stated : kStated) {
    if (stated.active == 0.0) continue;
    const Model model = read(stated);
    const auto all = static_cast<double>(active_parameters(model)) / 1e9;
    const auto ends = static_cast<double>(embedding_parameters(model, model.vocab_size) +
                                          head_parameters(model, model.vocab_size)) /
                      1e9;
    EXPECT_GT(stated.active, 0.9 * (all - ends)) << stated.name;
    EXPECT_LT(stated.active, 1.1 * all) << stated.name;
  }
}

TEST(HuggingFaceFamilies, EveryFamilyThatIsReadHasARow) {
  std::set<std::string> rows{"nemotron_h"};  // refused: huggingface_published_test.cc
  for (const Stated& stated : kStated) rows.insert(type_of(stated));
  // The same reader under another name of the same family.
  rows.insert({"bailing_moe", "ministral3", "qwen2_vl_text", "qwen2_5_vl_text"});
  EXPECT_GE(std::size(kStated), 45U);
  for (const std::string& type : huggingface_model_types()) EXPECT_EQ(rows.count(type), 1U) << type;
}

TEST(HuggingFaceFamilies, WhatWasReadIsWrittenAndReadBack) {
  for (const Stated& stated : kStated) {
    const Model model = read(stated);
    EXPECT_TRUE(model_record().read(model_record().write(model), "again") == model) << stated.name;
  }
}

// 1536 x 64 x 128 + 7168 x 128 + 2 x 128 + 7168 x 64, in each layer.
TEST(HuggingFaceFamilies, TheIndexerIsCountedWhole) {
  for (const Stated& stated : kStated) {
    if (stated.name != "DeepSeek-V3.2") continue;
    Model model = read(stated);
    const std::int64_t with = total_parameters(model);
    model.mla->dsa_indexer_n_heads = 0;
    EXPECT_EQ(with - total_parameters(model), 61 * 13'959'424);
    EXPECT_THAT(not_modelled_of_huggingface(Json::parse(stated.config)),
                testing::HasSubstr("all positions"));
  }
}

std::string refusal_and_hint_of(std::string_view config) {
  return error_and_hint_of([&] { model_from_huggingface(Json::parse(config), "config.json"); });
}

struct UnmodelledFamily {
  std::string_view config;
  std::string_view why;
};

TEST(HuggingFaceFamilies, LayersThatAreNotModelledAreCounted) {
  constexpr UnmodelledFamily kUnmodelled[] = {
      {R"({"model_type": "qwen3_next", "num_hidden_layers": 48, "full_attention_interval": 4})",
       "of 48 layers 36 are gated delta nets (linear attention), which are not modelled; the other "
       "12 are "
       "attention"},
      {R"({"model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text",
           "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"]}})",
       "of 4 layers 3 are gated delta nets"},
      {R"({"model_type": "kimi_linear", "num_hidden_layers": 27, "linear_attn_config": {"kda_layers": [1, 2, 3, 5]}})",
       "of 27 layers 4 are Kimi delta attention (linear attention), which are not modelled; the "
       "other 23 are "
       "latent"},
      {R"({"model_type": "granitemoehybrid", "layer_types": ["mamba", "attention", "mamba"]})",
       "of 3 layers 2 are Mamba-2 layers (state spaces), which are not modelled; the other 1 is "
       "attention"},
      {R"({"model_type": "minimax_text_01", "num_hidden_layers": 4, "attn_type_list": [0, 0, 0, 1]})",
       "of 4 layers 3 are lightning attention"},
      {R"({"model_type": "lfm2", "num_hidden_layers": 16, "full_attn_idxs": [2, 5, 8, 10, 12, 14]})",
       "of 16 layers 10 are short convolutions"},
      {R"({"model_type": "jamba", "num_hidden_layers": 32, "attn_layer_period": 8, "attn_layer_offset": 4})",
       "of 32 layers 28 are Mamba layers"},
      {R"({"model_type": "longcat_flash", "num_layers": 28})",
       "of 28 layers 28 are two attentions"},
      {R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text", "num_hidden_layers": 30}})",
       "a dense MLP beside experts"},
  };
  for (const UnmodelledFamily& refused : kUnmodelled) {
    EXPECT_THAT(refusal_and_hint_of(refused.config), testing::HasSubstr(std::string(refused.why)));
  }
}

TEST(HuggingFaceFamilies, AnUnknownFamilyIsToldWhatAPlainBlockNeeds) {
  const std::string why =
      refusal_and_hint_of(R"({"model_type": "deepseek_v4", "hidden_size": 4096})");
  EXPECT_THAT(why, testing::HasSubstr("\"deepseek_v4\" is not known"));
  EXPECT_THAT(why, testing::HasSubstr("these keys would make it a plain block: hidden_size, "));
  EXPECT_THAT(why, testing::HasSubstr("not there: intermediate_size, num_hidden_layers"));
  EXPECT_THAT(why, testing::Not(testing::HasSubstr("use \"")));
}

TEST(HuggingFaceFamilies, WhatIsNoNumberInPythonIsNull) {
  EXPECT_EQ(without_non_numbers(R"({"a": [Infinity, -Infinity, NaN], "b": "NaN \" Infinity"})"),
            R"({"a": [null, null, null], "b": "NaN \" Infinity"})");
}

}  // namespace
}  // namespace meshwright::interop
