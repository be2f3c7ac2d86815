// SPDX-License-Identifier: Apache-2.0
// What the trial's tests train, on cores and on GPUs: small enough for a test, with every part that
// a rank can hold a piece of.
#pragma once

#include "sim/base/job.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

// 4 layers, 4 heads, learned positions, tied embeddings, biases.
inline Model small_model() {
  Model m;
  m.name = "small";
  m.num_layers = 4;
  m.hidden_size = 32;
  m.ffn_hidden_size = 64;
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

// No attention and no vocabulary: fc1, activation, fc2 and a mean square.
inline Model plain_mlp() {
  Model m;
  m.name = "mlp";
  m.num_layers = 4;
  m.hidden_size = 32;
  m.ffn_hidden_size = 64;
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
