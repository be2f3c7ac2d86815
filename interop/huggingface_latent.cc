// SPDX-License-Identifier: Apache-2.0
// Latent attention (DeepSeek-V2) and its experts.
#include "interop/huggingface_families.h"

namespace meshwright::interop::huggingface {
namespace {

LatentAttention read_latent_attention(ObjectReader& config) {
  LatentAttention mla;
  mla.q_lora_rank = config.is_null("q_lora_rank") ? 0 : config.optional_int("q_lora_rank", 1536);
  mla.kv_lora_rank = config.optional_int("kv_lora_rank", 512);
  mla.qk_head_dim = config.optional_int("qk_nope_head_dim", 128);
  mla.qk_pos_emb_head_dim = config.optional_int("qk_rope_head_dim", 64);
  mla.v_head_dim = config.optional_int("v_head_dim", 128);
  return mla;
}

}  // namespace

void read_latent(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  refuse_unless(config, "attention_bias", false, false,
                "biases in latent attention are not supported");
  model.mla = read_latent_attention(config);
  // One latent vector serves all heads; num_key_value_heads says nothing about it.
  model.num_query_groups = model.num_attention_heads;
  model.kv_channels = model.mla->qk_head_dim + model.mla->qk_pos_emb_head_dim;
}

void read_deepseek_v2(ObjectReader& config, Model& model) {
  read_latent(config, model);
  model.moe = read_grouped_experts(config, 0);
}

void read_deepseek_v3(ObjectReader& config, Model& model) {
  read_latent(config, model);
  model.moe = read_grouped_experts(config, 3);
  model.moe->moe_router_bias = true;  // e_score_correction_bias: balances without a loss
  model.mtp_num_layers = config.optional_int("num_nextn_predict_layers", 0, {0, 1000});
}

void read_glm4_moe_lite(ObjectReader& config, Model& model) {
  read_deepseek_v3(config, model);
  model.moe->num_first_dense_layers = leading_dense_layers(config, 1);
}

}  // namespace meshwright::interop::huggingface
