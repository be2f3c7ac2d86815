// SPDX-License-Identifier: Apache-2.0
// Models, their shapes typed from their config.json, against the parameters that are published.
//
// `exact`: what the configuration describes, and, if another number, what the checkpoint holds: the
// sum of the tensors in its safetensors headers or the model card's table (GPT-NeoX), 0 where none
// is known to us. They differ for Falcon alone: its class ties the head to the embedding, yet its
// files hold lm_head again. Llama-2-70B's file holds 68,976,653,312 numbers: 80 layers of 64 rotary
// frequencies (5,120) are no parameters. The third number: experts that one token passes, with both
// embeddings. GPT-2 and OPT, Gemma 2, BLOOM tie without a key that says so; DeepSeek-V3 counts
// without its multi-token-prediction layer.
//
// `card`: billions that the card or paper states, and the last digit of them, which is the
// tolerance: 3.08 holds 3.075 to 3.085. Without embeddings of images and sound, and without
// multi-token prediction. The third number: billions that are active.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "interop/huggingface.h"
#include "interop/huggingface_families.h"
#include "sim/block/parameters.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"
#include "sim/record/json.h"
#include "tests/paths.h"

namespace meshwright::interop {
namespace {

struct Counts {
  std::int64_t total = 0, stored = 0, active = 0;  // 0: not stated
  double billions = 0.0, last_digit = 0.0, active_billions = 0.0;
};
constexpr Counts exact(std::int64_t total) { return {.total = total, .stored = total}; }
constexpr Counts exact(std::int64_t total, std::int64_t stored, std::int64_t active = 0) {
  return {.total = total, .stored = stored, .active = active};
}
constexpr Counts card(double billions, double last_digit, double active = 0.0) {
  return {.billions = billions, .last_digit = last_digit, .active_billions = active};
}

struct Published {
  std::string_view name, config;
  Counts counts;
};

// clang-format off
constexpr Published kPublished[] = {
    {"llama-2-7b", R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000})", exact(6'738'415'616)},
    {"starcoder2-3b", R"({"model_type": "starcoder2", "hidden_size": 3072, "intermediate_size": 12288,
        "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2, "use_bias": true,
        "sliding_window": 4096, "vocab_size": 49152})", exact(3'030'371'328)},
    {"command-r", R"({"model_type": "cohere", "hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40,
        "num_attention_heads": 64, "num_key_value_heads": 64, "logit_scale": 0.0625, "vocab_size": 256000})",
        exact(34'980'831'232)},
    {"mpt-7b", R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4,
        "max_seq_len": 2048, "no_bias": true, "attn_config": {"alibi": true}, "vocab_size": 50432})",
        exact(6'649'286'656)},
    {"llama-2-13b", R"({"model_type": "llama", "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40,
        "num_attention_heads": 40, "num_key_value_heads": 40, "vocab_size": 32000})", exact(13'015'864'320)},
    {"llama-2-70b", R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
        "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 32000})", exact(68'976'648'192, 0)},
    {"llama-3-8b", R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256})", exact(8'030'261'248)},
    {"llama-3.1-70b", R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
        "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256})",
        exact(70'553'706'496)},
    {"llama-3.1-405b", R"({"model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248,
        "num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads": 8, "vocab_size": 128256})",
        exact(405'853'388'800)},
    {"llama-3.2-1b", R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": true,
        "head_dim": 64})", exact(1'235'814'400, 0)},
    {"mistral-7b-v0.1", R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000})",
        exact(7'241'732'096)},
    {"mixtral-8x7b", R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
        "num_local_experts": 8, "num_experts_per_tok": 2})", exact(46'702'792'704, 46'702'792'704, 12'879'925'248)},
    {"mixtral-8x22b", R"({"model_type": "mixtral", "hidden_size": 6144, "intermediate_size": 16384,
        "num_hidden_layers": 56, "num_attention_heads": 48, "num_key_value_heads": 8, "vocab_size": 32000,
        "num_local_experts": 8, "num_experts_per_tok": 2})", exact(140'620'634'112, 140'620'634'112, 39'152'031'744)},
    {"qwen2.5-7b", R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064})", exact(7'615'616'512)},
    {"qwen2.5-72b", R"({"model_type": "qwen2", "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80,
        "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 152064})", exact(72'706'203'648)},
    {"qwen3-8b", R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936, "head_dim": 128})",
        exact(8'190'735'360)},
    {"qwen3-32b", R"({"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64,
        "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 151936, "head_dim": 128})",
        exact(32'762'123'264, 0)},
    {"qwen3-30b-a3b", R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
        "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 151936,
        "moe_intermediate_size": 768, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
        "decoder_sparse_step": 1})", exact(30'532'122'624, 0, 3'353'032'704)},
    {"qwen3-235b-a22b", R"({"model_type": "qwen3_moe", "hidden_size": 4096, "intermediate_size": 12288,
        "num_hidden_layers": 94, "num_attention_heads": 64, "num_key_value_heads": 4, "vocab_size": 151936,
        "moe_intermediate_size": 1536, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
        "decoder_sparse_step": 1})", exact(235'093'634'560, 235'093'634'560, 22'190'763'520)},
    {"deepseek-v3", R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 129280,
        "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
        "first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "num_nextn_predict_layers": 1, "n_group": 8, "topk_group": 4})",
        exact(671'026'419'200, 671'026'419'200, 37'552'297'472)},
    {"glm-4.5", R"({"model_type": "glm4_moe", "hidden_size": 5120, "intermediate_size": 12288, "num_hidden_layers": 92,
        "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151552,
        "attention_bias": true, "use_qk_norm": true, "moe_intermediate_size": 1536, "n_routed_experts": 160,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "n_group": 1, "topk_group": 1,
        "num_nextn_predict_layers": 1})", exact(352'797'829'024, 0)},
    {"qwen3-next-80b-a3b", R"({"model_type": "qwen3_next", "hidden_size": 2048, "intermediate_size": 5120,
        "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
        "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512, "linear_num_value_heads": 32, "vocab_size": 151936})",
        exact(79'674'391'296, 0)},
    {"qwen3.5-27b", R"({"model_type": "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408,
        "num_hidden_layers": 64, "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256,
        "attn_output_gate": true, "linear_num_value_heads": 48, "vocab_size": 248320})", exact(26'895'998'464, 0)},
    {"qwen3.5-397b-a17b", R"({"model_type": "qwen3_5_moe_text", "hidden_size": 4096, "num_hidden_layers": 60,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256, "num_experts": 512,
        "num_experts_per_tok": 10, "moe_intermediate_size": 1024, "shared_expert_intermediate_size": 1024,
        "linear_num_value_heads": 64, "vocab_size": 248320})", exact(396'346'350'336, 0)},
    {"olmo-hybrid", R"({"model_type": "olmo_hybrid", "hidden_size": 3840, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 30, "num_key_value_heads": 30, "vocab_size": 100352})",
        exact(7'430'870'688, 0)},
    // transformers 5.23's classes; router biases, buffers there, are counted here.
    {"nemotron-3-nano", R"({"model_type": "nemotron_h", "hidden_size": 2688, "intermediate_size": 1856,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "mamba_num_heads": 64,
        "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "chunk_size": 128, "vocab_size": 131072,
        "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
        "moe_shared_expert_intermediate_size": 3712, "hybrid_override_pattern":
        "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})", exact(31'577'940'288, 0)},
    {"nemotron-3-super", R"({"model_type": "nemotron_h", "hidden_size": 4096, "intermediate_size": 2688,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "mamba_num_heads": 128,
        "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "chunk_size": 128, "vocab_size": 131072,
        "n_routed_experts": 512, "num_experts_per_tok": 22, "moe_intermediate_size": 2688,
        "moe_shared_expert_intermediate_size": 5376, "moe_latent_size": 1024, "hybrid_override_pattern":
        "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"})",
        exact(120'668'707'840, 0)},
    {"nemotron-3-ultra", R"({"model_type": "nemotron_h", "hidden_size": 8192, "intermediate_size": 5120,
        "num_attention_heads": 64, "num_key_value_heads": 2, "head_dim": 128, "mamba_num_heads": 256,
        "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "chunk_size": 128, "vocab_size": 131072,
        "n_routed_experts": 512, "num_experts_per_tok": 22, "moe_intermediate_size": 5120,
        "moe_shared_expert_intermediate_size": 10240, "moe_latent_size": 2048, "hybrid_override_pattern":
        "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})",
        exact(549'308'993'536, 0)},
    {"nemotron-h-56b", R"({"model_type": "nemotron_h", "hidden_size": 8192, "intermediate_size": 32768,
        "num_attention_heads": 64, "num_key_value_heads": 8, "attention_head_dim": 128, "mamba_num_heads": 256,
        "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 256, "chunk_size": 128, "vocab_size": 131072,
        "hybrid_override_pattern":
        "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"})",
        exact(56'324'350'464, 0)},
    {"mamba2", R"({"model_type": "mamba2", "hidden_size": 4096, "num_hidden_layers": 64, "vocab_size": 32768})",
        exact(7'285'403'648, 0)},
    {"bamba", R"({"model_type": "bamba", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "attn_layer_indices": null, "vocab_size": 128000})",
        exact(9'992'765'440, 0)},
    {"mamba-default", R"({"model_type": "mamba", "hidden_size": 768, "state_size": 16, "num_hidden_layers": 32,
        "time_step_rank": 48, "vocab_size": 50280})", exact(159'308'544, 0)},
    {"jamba-default", R"({"model_type": "jamba", "hidden_size": 4096, "intermediate_size": 14336, "num_experts": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 65536})",
        exact(51'570'323'328, 0)},
    {"Falcon-H1-default", R"({"model_type": "falcon_h1", "hidden_size": 4096, "intermediate_size": 14336,
        "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32, "mamba_d_ssm": 1024,
        "mamba_n_heads": 128, "vocab_size": 128000})", exact(8'514'961'408, 0)},
    // 60 layers with 128 router biases.
    {"MiniMax-M3-default", R"({"model_type": "minimax_m3", "hidden_size": 6144, "intermediate_size": 3072,
        "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128, "num_hidden_layers": 60,
        "num_local_experts": 128, "num_experts_per_tok": 4, "vocab_size": 200064})", exact(447'186'448'896, 0)},
    // 43 layers with 256 router biases.
    {"DeepSeek-V4-default", R"({"model_type": "deepseek_v4", "hidden_size": 4096, "moe_intermediate_size": 2048,
        "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 6})", exact(284'325'880'023, 0)},
    {"kimi-linear-48b", R"({"model_type": "kimi_linear", "first_k_dense_replace": 1, "head_dim": 72, "hidden_size":
        2304, "intermediate_size": 9216, "kv_lora_rank": 512, "linear_attn_config": {"full_attn_layers": [4, 8, 12,
        16, 20, 24, 27], "head_dim": 128, "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22,
        23, 25, 26], "num_heads": 32, "short_conv_kernel_size": 4}, "mla_use_nope": true, "moe_intermediate_size":
        1024, "num_attention_heads": 32, "num_experts": 256, "num_experts_per_token": 8, "num_hidden_layers": 27,
        "num_key_value_heads": 32, "num_shared_experts": 1, "q_lora_rank": null, "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840, "tie_word_embeddings": false})",
        exact(49'122'681'728, 0)},
    {"lfm2-1.2b", R"({"model_type": "lfm2", "hidden_size": 2048, "block_ff_dim": 12288, "intermediate_size": 12288,
        "block_auto_adjust_ff_dim": true, "block_multiple_of": 256, "conv_L_cache": 3, "full_attn_idxs": [2, 5, 8,
        10, 12, 14], "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size":
        65536})", exact(1'170'340'608)},
    {"lfm2-default", R"({"model_type": "lfm2", "hidden_size": 2560, "intermediate_size": 12288, "full_attn_idxs": [0,
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
        30, 31], "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536})",
        exact(2'705'497'600, 0)},
    {"lfm2-8b-a1b", R"({"model_type": "lfm2_moe", "hidden_size": 2048, "intermediate_size": 7168,
        "moe_intermediate_size": 1792, "num_dense_layers": 2, "num_experts": 32, "num_experts_per_tok": 4,
        "layer_types": ["conv", "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv",
        "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv", "full_attention",
        "conv", "conv", "full_attention", "conv", "conv"], "num_hidden_layers": 24, "num_attention_heads": 32,
        "num_key_value_heads": 8, "use_expert_bias": true, "vocab_size": 65536})", exact(8'339'930'560, 0)},
    {"minimax", R"({"model_type": "minimax", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers":
        32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2,
        "vocab_size": 32000})", exact(47'373'946'880, 0)},
    {"minimax-text-01", R"({"model_type": "minimax_text_01", "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
        0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1,
        0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
        "hidden_size": 6144, "intermediate_size": 9216, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 32, "num_experts_per_tok": 2, "vocab_size":
        200064})", exact(456'089'655'296)},
    {"gpt2-xl", R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024,
        "vocab_size": 50257})", exact(1'557'611'200)},
    {"gpt-neox-20b", R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 44, "num_attention_heads": 64, "vocab_size": 50432})", exact(20'554'567'680)},
    {"opt-66b", R"({"model_type": "opt", "hidden_size": 9216, "ffn_dim": 36864, "num_hidden_layers": 64,
        "num_attention_heads": 72, "word_embed_proj_dim": 9216, "vocab_size": 50272, "max_position_embeddings": 2048})",
        exact(65'719'701'504, 0)},
    {"opt-175b", R"({"model_type": "opt", "hidden_size": 12288, "ffn_dim": 49152, "num_hidden_layers": 96,
        "num_attention_heads": 96, "word_embed_proj_dim": 12288, "vocab_size": 50272,
        "max_position_embeddings": 2048})", exact(174'604'468'224, 0)},
    {"bloom-176b", R"({"model_type": "bloom", "hidden_size": 14336, "n_layer": 70, "num_attention_heads": 112,
        "vocab_size": 250880})", exact(176'247'271'424)},
    {"falcon-40b", R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
        "num_kv_heads": 8, "vocab_size": 65024, "new_decoder_architecture": true})", exact(41'303'293'952,
        41'835'970'560)},
    {"falcon-180b", R"({"model_type": "falcon", "hidden_size": 14848, "num_hidden_layers": 80,
        "num_attention_heads": 232, "num_kv_heads": 8, "vocab_size": 65024, "new_decoder_architecture": true})",
        exact(178'557'088'768, 179'522'565'120)},
    {"gemma-2-27b", R"({"model_type": "gemma2", "hidden_size": 4608, "intermediate_size": 36864,
        "num_hidden_layers": 46, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128,
        "vocab_size": 256000})", exact(27'227'128'320)},
    {"phi-3-mini", R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32064})", exact(3'821'079'552)},
    {"gpt-oss-120b", R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
        "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
        "num_local_experts": 128, "num_experts_per_tok": 4, "vocab_size": 201088})", exact(116'829'156'672,
        116'829'156'672, 5'711'982'912)},
    {"olmo-2-7b", R"({"model_type": "olmo2", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "tie_word_embeddings": false, "vocab_size": 100352})",
        exact(7'298'617'344)},
    {"olmo-2-13b", R"({"model_type": "olmo2", "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40,
        "num_attention_heads": 40, "num_key_value_heads": 40, "tie_word_embeddings": false, "vocab_size": 100352})",
        exact(13'716'198'400)},
    // 32 layers have two numbers of xIELU each, 64 in all; beta and eps are buffers.
    {"apertus-8b", R"({"model_type": "apertus", "hidden_size": 4096, "intermediate_size": 21504,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "xielu",
        "qk_norm": true, "vocab_size": 131072})", exact(8'053'338'176)},
    // No integer is published that we know: 64 layers of 2 x 12288^2 + 2 x 12288 x 1024 (attention), 3 x 12288 x 33792
    // (MLP), 12288 (norm) and 12288 + 1024 (norms of each head); 256000 x 12288 and a norm.
    {"command-r-plus", R"({"model_type": "cohere", "hidden_size": 12288, "intermediate_size": 33792,
        "num_hidden_layers": 64, "num_attention_heads": 96, "num_key_value_heads": 8, "use_qk_norm": true,
        "vocab_size": 256000})", exact(103'810'674'688, 0)},
    {"SmolLM3-3B", R"({"model_type": "smollm3", "hidden_size": 2048, "intermediate_size": 11008,
        "num_hidden_layers": 36, "num_attention_heads": 16, "num_key_value_heads": 4, "no_rope_layer_interval": 4,
        "sliding_window": null, "use_sliding_window": false, "tie_word_embeddings": true, "vocab_size": 128256})",
        card(3.08, 0.01)},
    {"Seed-OSS-36B", R"({"model_type": "seed_oss", "attention_bias": true, "attention_out_bias": false, "head_dim": 128,
        "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 80,
        "num_key_value_heads": 8, "vocab_size": 155136})", card(36.2, 0.1)},
    {"OLMo-3-32B", R"({"model_type": "olmo3", "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
        "num_attention_heads": 40, "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size": 100278})", card(32.2,
        0.1)},
    {"dots.llm1", R"({"model_type": "dots1", "first_k_dense_replace": 1, "hidden_size": 4096,
        "intermediate_size": 10944, "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1,
        "n_routed_experts": 128, "n_shared_experts": 2, "num_attention_heads": 32, "num_key_value_heads": 32,
        "num_experts_per_tok": 6, "num_hidden_layers": 62, "scoring_func": "noaux_tc", "vocab_size": 152064})",
        card(142.0, 2.0, 14.0)},
    {"ERNIE-4.5-21B-A3B", R"({"model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288,
        "num_attention_heads": 20, "num_key_value_heads": 4, "num_hidden_layers": 28, "moe_num_experts": 64,
        "moe_layer_start_index": 1, "moe_layer_end_index": 27, "moe_layer_interval": 1, "moe_intermediate_size": 1536,
        "moe_k": 6, "moe_num_shared_experts": 2, "tie_word_embeddings": true, "vocab_size": 103424})", card(21.8, 0.1,
        3.0)},
    {"ERNIE-4.5-0.3B", R"({"model_type": "ernie4_5", "hidden_size": 1024, "intermediate_size": 3072, "head_dim": 128,
        "num_attention_heads": 16, "num_key_value_heads": 2, "num_hidden_layers": 18, "tie_word_embeddings": true,
        "vocab_size": 103424})", card(0.36, 0.01)},
    {"Hunyuan-A13B", R"({"model_type": "hunyuan_v1_moe", "head_dim": 128, "hidden_size": 4096,
        "intermediate_size": 3072, "moe_intermediate_size": [3072, 3072], "moe_topk": [8, 8], "num_attention_heads": 32,
        "num_experts": 64, "num_hidden_layers": 32, "num_key_value_heads": 8, "num_shared_expert": [1, 1],
        "tie_word_embeddings": true, "use_cla": false, "use_qk_norm": true, "vocab_size": 128167})", card(80.4, 0.1,
        13.0)},
    {"Hunyuan-7B", R"({"model_type": "hunyuan_v1_dense", "head_dim": 128, "hidden_size": 4096,
        "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
        "tie_word_embeddings": true, "use_qk_norm": true, "vocab_size": 128167})", card(7.5, 0.1)},
    {"Ling-mini-2.0", R"({"model_type": "bailing_moe_v2", "num_hidden_layers": 20, "hidden_size": 2048,
        "intermediate_size": 5120, "first_k_dense_replace": 1, "moe_intermediate_size": 512,
        "moe_shared_expert_intermediate_size": 512, "num_shared_experts": 1, "num_experts": 256,
        "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4, "moe_router_enable_expert_bias": true,
        "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128, "use_qk_norm": true,
        "vocab_size": 157184})", card(16.3, 0.1, 1.4)},
    {"MiMo-7B", R"({"model_type": "mimo", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "attention_bias": true,
        "num_nextn_predict_layers": 1, "vocab_size": 151680})", card(7.6, 0.2)},
    {"MiniMax-M2.5", R"({"model_type": "minimax_m2", "hidden_size": 3072, "intermediate_size": 1536,
        "num_hidden_layers": 62, "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128,
        "num_local_experts": 256, "num_experts_per_tok": 8, "shared_intermediate_size": 0, "use_qk_norm": true,
        "qk_norm_type": "per_layer", "use_mtp": true, "num_mtp_modules": 3, "vocab_size": 200064})", card(229.0, 1.0,
        10.0)},
    {"Qwen3-VL-235B", R"({"model_type": "qwen3_vl_moe", "tie_word_embeddings": false,
        "text_config": {"model_type": "qwen3_vl_moe_text", "decoder_sparse_step": 1, "head_dim": 128,
        "hidden_size": 4096, "intermediate_size": 12288, "mlp_only_layers": [], "moe_intermediate_size": 1536,
        "num_attention_heads": 64, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 94,
        "num_key_value_heads": 4, "vocab_size": 151936}})", card(235.0, 1.0, 22.0)},
    {"Qwen3-VL-8B", R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text", "head_dim": 128,
        "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 151936}})", card(8.2, 0.1)},
    {"Qwen2-VL-7B", R"({"model_type": "qwen2_vl", "hidden_size": 3584, "intermediate_size": 18944,
        "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064})", card(7.6,
        0.1)},
    {"Qwen2.5-VL-72B", R"({"model_type": "qwen2_5_vl", "hidden_size": 8192, "intermediate_size": 29568,
        "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 152064})",
        card(72.7, 0.1)},
    {"Qwen1.5-MoE-A2.7B", R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632,
        "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60,
        "num_experts_per_tok": 4, "decoder_sparse_step": 1, "num_hidden_layers": 24, "num_attention_heads": 16,
        "num_key_value_heads": 16, "vocab_size": 151936})", card(14.3, 0.1, 2.7)},
    {"Gemma-3-27B", R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "head_dim": 128,
        "hidden_size": 5376, "intermediate_size": 21504, "num_attention_heads": 32, "num_hidden_layers": 62,
        "num_key_value_heads": 16, "sliding_window": 1024}})", card(27.0, 0.1)},
    {"Gemma-3-4B", R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
        "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})", card(3.88, 0.01)},
    {"Gemma-7B", R"({"model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256, "vocab_size": 256000})", card(8.54,
        0.01)},
    {"GLM-4-9B-0414", R"({"model_type": "glm4", "hidden_size": 4096, "intermediate_size": 13696,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
        "attention_bias": true, "vocab_size": 151552})", card(9.4, 0.1)},
    {"GLM-4-9B", R"({"model_type": "glm", "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "attention_bias": true,
        "vocab_size": 151552})", card(9.4, 0.1)},
    {"GLM-4.5-Air", R"({"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944,
        "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
        "attention_bias": true, "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "first_k_dense_replace": 1, "vocab_size": 151552})", card(106.0, 2.0, 12.0)},
    {"GLM-4.7-Flash", R"({"model_type": "glm4_moe_lite", "hidden_size": 2048, "intermediate_size": 10240,
        "num_hidden_layers": 47, "num_attention_heads": 20, "num_key_value_heads": 20, "q_lora_rank": 768,
        "kv_lora_rank": 512, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
        "moe_intermediate_size": 1536, "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4,
        "first_k_dense_replace": 1, "vocab_size": 154880})", card(30.0, 2.0, 3.0)},
    {"GLM-5", R"({"model_type": "glm_moe_dsa", "hidden_size": 6144, "intermediate_size": 12288, "num_hidden_layers": 78,
        "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 2048, "kv_lora_rank": 512,
        "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "index_head_dim": 128, "index_n_heads": 32,
        "index_topk": 2048, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
        "num_experts_per_tok": 8, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, "vocab_size": 154880})",
        card(744.0, 2.0, 40.0)},
    // 61 layers of DeepSeek-V3 (671.03) and 61 indexers of 1536 x 64 x 128 + 7168 x 128 + 256 + 7168 x 64 = 13,959,424.
    {"DeepSeek-V3.2", R"({"model_type": "deepseek_v32", "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "index_head_dim": 128,
        "index_n_heads": 64, "index_topk": 2048, "moe_intermediate_size": 2048, "n_routed_experts": 256,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1,
        "vocab_size": 129280})", card(671.88, 0.01, 37.0)},
    {"Kimi-K2", R"({"model_type": "kimi_k2", "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
        "num_attention_heads": 64, "num_key_value_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_intermediate_size": 2048,
        "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
        "vocab_size": 163840})", card(1026.0, 2.0, 32.0)},
    {"DeepSeek-MoE-16B", R"({"model_type": "deepseek", "hidden_size": 2048, "intermediate_size": 10944,
        "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
        "first_k_dense_replace": 1, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16,
        "vocab_size": 102400})", card(16.4, 0.1, 2.8)},
    {"DeepSeek-V2", R"({"model_type": "deepseek_v2", "hidden_size": 5120, "intermediate_size": 12288,
        "num_hidden_layers": 60, "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "moe_intermediate_size": 1536, "n_routed_experts": 160, "n_shared_experts": 2, "num_experts_per_tok": 6,
        "first_k_dense_replace": 1, "vocab_size": 102400})", card(236.0, 1.0, 21.0)},
    {"Mistral-Small-4", R"({"model_type": "mistral4", "hidden_size": 4096, "intermediate_size": 12288,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 32, "q_lora_rank": 1024,
        "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "moe_intermediate_size": 2048, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 4,
        "first_k_dense_replace": 0, "vocab_size": 131072})", exact(118'972'826'624)},
    {"Granite-3.3-8B", R"({"model_type": "granite", "hidden_size": 4096, "intermediate_size": 12800,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "tie_word_embeddings": true,
        "vocab_size": 49159})", card(8.17, 0.01)},
    {"Granite-3.1-3B-A800M", R"({"model_type": "granitemoe", "hidden_size": 1536, "intermediate_size": 512,
        "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "num_local_experts": 40,
        "num_experts_per_tok": 8, "tie_word_embeddings": true, "vocab_size": 49155})", card(3.3, 0.1, 0.8)},
    {"EXAONE-4.0-32B", R"({"model_type": "exaone4", "hidden_size": 5120, "intermediate_size": 27392,
        "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "sliding_window": 4096, "sliding_window_pattern": "LLLG", "vocab_size": 102400})", card(32.0, 0.1)},
    {"Ministral-8B", R"({"model_type": "ministral", "hidden_size": 4096, "intermediate_size": 12288, "head_dim": 128,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 131072})",
        card(8.02, 0.01)},
    {"Mistral-Small-3.1-24B", R"({"model_type": "mistral3", "text_config": {"model_type": "mistral",
        "hidden_size": 5120, "intermediate_size": 32768, "head_dim": 128, "num_hidden_layers": 40,
        "num_attention_heads": 32, "num_key_value_heads": 8, "sliding_window": null, "vocab_size": 131072}})",
        card(23.6, 0.1)},
    {"Llama-4-Maverick", R"({"model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
        "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
        "head_dim": 128, "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
        "vocab_size": 202048})", card(400.0, 2.0, 17.0)},
    {"Phi-4", R"({"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40,
        "num_attention_heads": 40, "num_key_value_heads": 10, "vocab_size": 100352})", card(14.7, 0.1)},
    {"InternLM2.5-7B", R"({"model_type": "internlm2", "bias": false, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 92544})", card(7.74,
        0.01)},
    {"InternLM3-8B", R"({"model_type": "internlm3", "hidden_size": 4096, "intermediate_size": 10240, "head_dim": 128,
        "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 2, "vocab_size": 128512})", card(8.8,
        0.1)},
    {"StableLM-3B-4E1T", R"({"model_type": "stablelm", "hidden_size": 2560, "intermediate_size": 6912,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "use_qkv_bias": false,
        "vocab_size": 50304})", card(2.8, 0.1)},
    {"AFM-4.5B", R"({"model_type": "arcee", "hidden_size": 2560, "intermediate_size": 18432, "head_dim": 128,
        "hidden_act": "relu2", "num_hidden_layers": 36, "num_attention_heads": 20, "num_key_value_heads": 4,
        "vocab_size": 128004})", card(4.6, 0.1)},
    {"Nemotron-4-15B", R"({"model_type": "nemotron", "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 32, "num_attention_heads": 48, "num_key_value_heads": 8, "hidden_act": "relu2",
        "vocab_size": 256000})", card(15.6, 0.1)},
    {"MiniCPM-2B", R"({"model_type": "minicpm", "hidden_size": 2304, "intermediate_size": 5760, "num_hidden_layers": 40,
        "num_attention_heads": 36, "num_key_value_heads": 36, "vocab_size": 122753})", card(2.7, 0.1)},
    {"Command-R7B", R"({"model_type": "cohere2", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "logit_scale": 0.25,
        "sliding_window": 4096, "sliding_window_pattern": 4, "vocab_size": 256000})", card(8.03, 0.01)},
    {"OLMoE-1B-7B", R"({"model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 16,
        "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64, "num_experts_per_tok": 8,
        "vocab_size": 50304})", card(6.92, 0.01, 1.3)},
    {"gpt-oss-20b", R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
        "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
        "num_local_experts": 32, "num_experts_per_tok": 4, "vocab_size": 201088})", card(20.9, 0.1, 3.6)},
    {"GPT-2", R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
        "vocab_size": 50257})", card(0.124, 0.001)},
    {"OPT-30B", R"({"model_type": "opt", "hidden_size": 7168, "ffn_dim": 28672, "num_hidden_layers": 48,
        "num_attention_heads": 56, "word_embed_proj_dim": 7168, "vocab_size": 50272, "max_position_embeddings": 2048})",
        card(30.0, 0.1)},
    {"BLOOM-7B1", R"({"model_type": "bloom", "hidden_size": 4096, "n_layer": 30, "num_attention_heads": 32,
        "vocab_size": 250880})", card(7.07, 0.01)},
    {"StarCoder2-15B", R"({"model_type": "starcoder2", "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 40, "num_attention_heads": 48, "num_key_value_heads": 4, "use_bias": true,
        "tie_word_embeddings": false, "vocab_size": 49152})", card(16.0, 0.1)},
    {"Granite-4.0-micro", R"({"model_type": "granitemoehybrid", "hidden_size": 2560, "intermediate_size": 8192,
        "shared_intermediate_size": 8192, "num_local_experts": 0, "layer_types": ["attention", "attention"],
        "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 8, "tie_word_embeddings": true,
        "vocab_size": 100352})", card(3.4, 0.1)},
};
// clang-format on

Model read(const Published& published) {
  return model_from_huggingface(Json::parse(published.config),
                                std::string(published.name) + ".json");
}

TEST(HuggingFaceModels, ParametersAreThoseThatArePublished) {
  for (const auto& published : kPublished) {
    SCOPED_TRACE(published.name);
    const Model model = read(published);
    EXPECT_EQ(model.name, published.name);
    const std::int64_t total = total_parameters(model);
    const Counts& counts = published.counts;
    if (counts.total == 0) {
      EXPECT_NEAR(static_cast<double>(total) / 1e9, counts.billions,
                  0.5 * counts.last_digit + 1e-9);
      continue;
    }
    EXPECT_EQ(total, counts.total);
    const bool head_stored_twice = published.name.starts_with("falcon");
    const std::int64_t extra =
        head_stored_twice ? std::int64_t{model.vocab_size} * model.hidden_size : 0;
    if (counts.stored > 0) {
      EXPECT_EQ(total + extra, counts.stored);
    }
  }
}

// 40B: 65024 * 8192 = 532,676,608 more than tied.
TEST(HuggingFaceModels, FalconUntiedHasWhatItsFilesHold) {
  for (const auto& published : kPublished) {
    if (!published.name.starts_with("falcon")) continue;
    Model model = read(published);
    EXPECT_TRUE(model.tied_embeddings);
    model.tied_embeddings = false;
    EXPECT_EQ(total_parameters(model), published.counts.stored);
  }
}

// Cards count the embedding and the head of an active token, one of them, or neither, and round.
TEST(HuggingFaceModels, ActiveParametersCountTheChosenExperts) {
  for (const auto& published : kPublished) {
    SCOPED_TRACE(published.name);
    const Model model = read(published);
    const std::int64_t active = active_parameters(model);
    const Counts& counts = published.counts;
    if (counts.active > 0) {
      EXPECT_EQ(active, counts.active);
    } else if (counts.active_billions > 0) {
      const auto all = static_cast<double>(active) / 1e9;
      const auto ends = static_cast<double>(embedding_parameters(model, model.vocab_size) +
                                            head_parameters(model, model.vocab_size)) /
                        1e9;
      EXPECT_GT(counts.active_billions, 0.9 * (all - ends));
      EXPECT_LT(counts.active_billions, 1.1 * all);
    } else if (!model.moe) {
      EXPECT_EQ(active, total_parameters(model));
    }
  }
}

std::string type_of(const Published& published) {
  const Json config = Json::parse(published.config);
  return (config.contains("text_config") ? config["text_config"] : config)["model_type"]
      .get<std::string>();
}

TEST(HuggingFaceModels, EveryFamilyThatIsReadHasARow) {
  std::set<std::string> rows;
  for (const auto& published : kPublished) rows.insert(type_of(published));
  // The same reader under another name of the same family.
  rows.insert({"bailing_moe", "deepseek_ref", "falcon_mamba", "minimax_m3_vl", "minimax_m3_vl_text",
               "ministral3", "qwen2_vl_text", "qwen2_5_vl_text"});
  for (const std::string& type : huggingface_model_types()) EXPECT_EQ(rows.count(type), 1U) << type;
}

TEST(HuggingFaceModels, WhatWasReadIsWrittenAndReadBack) {
  for (const auto& published : kPublished) {
    const Model model = read(published);
    EXPECT_TRUE(model_record().read(model_record().write(model), "again") == model)
        << published.name;
  }
}

// 1536 x 64 x 128 + 7168 x 128 + 2 x 128 + 7168 x 64, in each layer.
TEST(HuggingFaceModels, TheIndexerIsCountedWhole) {
  for (const auto& published : kPublished) {
    if (published.name != "DeepSeek-V3.2") continue;
    Model model = read(published);
    const std::int64_t with = total_parameters(model);
    model.mla->dsa_indexer_n_heads = 0;
    EXPECT_EQ(with - total_parameters(model), 61 * 13'959'424);
    EXPECT_THAT(not_modelled_of_huggingface(Json::parse(published.config)),
                testing::HasSubstr("own loss"));
  }
}

// The shipped model was typed from the same file by hand.
TEST(HuggingFaceModels, Llama4IsTheShippedModel) {
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
  EXPECT_EQ(not_modelled_of_huggingface(config), "");
}

// Gemma 3 states its layers; Qwen3-VL calls them depth, which SGLang's rule does not look at.
TEST(HuggingFaceModels, AnImageEncoderIsKnownByItsSize) {
  auto config = Json::parse(R"({"model_type": "gemma3", "text_config": {"model_type": "llama",
      "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
      "vocab_size": 100}, "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}})");
  const auto read = [&] { return model_from_huggingface(config, "config.json"); };
  EXPECT_EQ(read().image_encoder_hidden_size, 1152);
  EXPECT_EQ(read().image_encoder_num_layers, 27);
  config["vision_config"].erase("num_hidden_layers");
  EXPECT_EQ(read().image_encoder_num_layers, 0);
  config.erase("vision_config");
  EXPECT_EQ(read().image_encoder_hidden_size, 0);
}

TEST(HuggingFaceModels, OurOwnSchemaIsNotMistaken) {
  EXPECT_TRUE(looks_like_huggingface(Json::parse(kPublished[0].config)));
  EXPECT_TRUE(looks_like_huggingface(Json::parse(R"({"text_config": {"model_type": "llama"}})")));
  EXPECT_FALSE(looks_like_huggingface(Json::parse(R"({"schema": "meshwright.model/1"})")));
  EXPECT_FALSE(looks_like_huggingface(Json::array()));
}

TEST(HuggingFaceModels, WhatIsNoNumberInPythonIsNull) {
  EXPECT_EQ(without_non_numbers(R"({"a": [Infinity, -Infinity, NaN], "b": "NaN \" Infinity"})"),
            R"({"a": [null, null, null], "b": "NaN \" Infinity"})");
}

}  // namespace
}  // namespace meshwright::interop
