// SPDX-License-Identifier: Apache-2.0
// What the trial's tests train, on cores and on GPUs: small enough for a test, with every part that
// a rank can hold a piece of.
#pragma once

#include "sim/base/job.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

inline Model of_small_sizes(const char* name) {
  Model m;
  m.name = name;
  m.num_layers = 4;
  m.hidden_size = 32;
  m.ffn_hidden_size = 64;
  return m;
}

// 4 layers, 4 heads, learned positions, tied embeddings, biases.
inline Model small_model() {
  Model m = of_small_sizes("small");
  m.num_attention_heads = m.num_query_groups = 4;
  m.kv_channels = 8;
  m.vocab_size = 96;
  m.max_position_embeddings = 20;
  return m;
}

// As Llama: RMS norm, rotary positions, a gated MLP, two query groups for four heads, untied.
inline Model small_llama() {
  Model m = small_model();
  m.name = "llama";
  m.num_query_groups = 2;
  m.activation = Activation::swiglu;
  m.normalization = Normalization::rms_norm;
  m.position_embedding = PositionEmbedding::rope;
  m.add_bias_linear = false;
  m.tied_embeddings = false;
  return m;
}

// Queries and keys are normed head by head (Qwen3).
inline Model small_qwen() {
  Model m = small_llama();
  m.name = "qwen";
  m.qk_layernorm = true;
  return m;
}

// One group for all heads, which 2 and 4 ranks share; biases in qkv (Qwen2), a GEGLU, tied.
inline Model small_multi_query() {
  Model m = small_llama();
  m.name = "multi-query";
  m.num_query_groups = 1;
  m.activation = Activation::geglu;
  m.add_qkv_bias = true;
  m.tied_embeddings = true;
  return m;
}

// Two of 8 experts a token in each layer but the first, and a shared expert.
inline Model small_moe() {
  Model m = small_llama();
  m.name = "moe";
  m.moe = MixtureOfExperts{.num_moe_experts = 8,
                           .moe_router_topk = 2,
                           .moe_ffn_hidden_size = 32,
                           .moe_shared_expert_intermediate_size = 48,
                           .num_first_dense_layers = 1};
  return m;
}

// Experts with biases and places for all tokens, in each layer; a biased router. Four experts, so
// that each gets tokens of a real router.
inline constexpr int kExpertsWithCapacity = 4;
inline Model small_moe_with_capacity() {
  Model m = small_model();
  m.name = "moe with capacity";
  m.moe = MixtureOfExperts{.num_moe_experts = kExpertsWithCapacity,
                           .moe_router_topk = 2,
                           .moe_ffn_hidden_size = 48,
                           .moe_expert_capacity_factor = 2.0,
                           .moe_expert_bias = true,
                           .moe_router_bias = true};
  return m;
}

// As gpt-oss: a sink for each head, windows, biases everywhere, and experts that clamp: normed rows
// of 32 times weights of 0.02 are about 0.11, so that a limit of 0.1 clamps many and not all.
inline Model small_gpt_oss() {
  Model m = small_moe();
  m.name = "gpt-oss";
  m.num_query_groups = 4;
  m.add_bias_linear = true;
  m.attention_sinks = true;
  m.sliding_window = 5;
  m.sliding_window_interval = 2;
  m.activation_func_clamp_value = 0.1;
  m.moe->num_first_dense_layers = 0;
  m.moe->moe_shared_expert_intermediate_size = 0;
  m.moe->moe_expert_bias = m.moe->moe_router_bias = true;
  return m;
}

// Attention as DeepSeek-V2's: latent queries, keys and values, of which 4 columns are rotated.
inline Model small_mla() {
  Model m = small_llama();
  m.name = "mla";
  m.num_query_groups = 4;
  m.kv_channels = 12;
  m.mla = LatentAttention{.q_lora_rank = 24,
                          .kv_lora_rank = 16,
                          .qk_head_dim = 8,
                          .qk_pos_emb_head_dim = 4,
                          .v_head_dim = 6};
  return m;
}

// With that many depths of multi-token prediction.
inline Model predicting(Model m, int depths = 1) {
  m.mtp_num_layers = depths;
  return m;
}

// Two depths, with an embedding that the head does not share.
inline Model small_mtp() {
  Model m = predicting(small_llama(), 2);
  m.name = "mtp";
  return m;
}

// Every second layer sees 5 positions (Gemma 2).
inline Model small_window() {
  Model m = small_llama();
  m.name = "window";
  m.num_query_groups = 4;
  m.sliding_window = 5;
  m.sliding_window_interval = 2;
  return m;
}

// No attention and no vocabulary: fc1, activation, fc2 and a mean square.
inline Model plain_mlp() {
  Model m = of_small_sizes("mlp");
  m.activation = Activation::relu;
  m.normalization = Normalization::none;
  m.position_embedding = PositionEmbedding::none;
  return m;
}

// 8 sequences of 16.
inline Job small_job(Precision precision = Precision::fp32) {
  Job j;
  j.seq_length = 16;
  j.global_batch_size = 8;
  j.precision = precision;
  j.attention_kernel = AttentionKernel::unfused;
  j.make_vocab_size_divisible_by = 8;  // 96 entries under every tensor size that is used
  return j;
}

}  // namespace meshwright::calibrate
