// SPDX-License-Identifier: Apache-2.0
// A model in Megatron-LM's options.
#include <fmt/format.h>

#include <algorithm>

#include "interop/write_launch/bash_arguments.h"
#include "interop/write_launch/launch.h"
#include "sim/block/indexer.h"
#include "sim/block/recurrent.h"

namespace meshwright::interop {
namespace {

std::string expert_layers(const Model& model) {
  const MixtureOfExperts& moe = *model.moe;
  std::vector<int> pattern;
  for (int i = 0; i < model.num_layers; ++i) {
    pattern.push_back(layer_kind(model, i).mixture_of_experts ? 1 : 0);
  }
  if (moe.moe_layer_interval == 1) {
    return fmt::format("[0]*{}+[1]*{}", moe.num_first_dense_layers,
                       model.num_layers - moe.num_first_dense_layers);
  }
  return fmt::format("[{}]", fmt::join(pattern, ","));
}

std::string missing_feature(const Model& m) {
  if (m.num_attention_heads == 0) return "model without attention";
  if (m.vocab_size == 0) return "model without a vocabulary";
  const auto mixer = recurrent_mixer(m);
  if (mixer && !m.linear_attention) return std::string(mixer->plural);
  if (const auto indexed = indexed_attention(m); !indexed.empty()) return std::string(indexed);
  if (!m.hybrid_layer_pattern.empty()) return "layers of one part";
  if (m.activation != Activation::gelu && m.activation != Activation::swiglu) {
    return fmt::format("{} activation", name_of(m.activation));
  }
  if (m.position_embedding == PositionEmbedding::alibi) return "ALiBi";
  if (m.parallel_attention_mlp) return "parallel attention and MLP";
  if (m.post_layer_norms) return "second norm after attention and MLP";
  if (m.qk_layernorm_all_heads) return "norm over the queries and keys of all heads";
  if (m.embedding_layer_norm) return "norm after the embedding";
  if (m.normalization == Normalization::none) return "layers without norms";
  return "";
}

void add_experts(Arguments& arguments, const Model& model, const Layout& layout) {
  const MixtureOfExperts& moe = *model.moe;
  arguments.set("--num-experts", moe.num_moe_experts);
  arguments.set("--moe-ffn-hidden-size", moe.moe_ffn_hidden_size);
  arguments.set("--moe-router-topk", moe.moe_router_topk);
  arguments.set_if(moe.moe_shared_expert_intermediate_size > 0,
                   "--moe-shared-expert-intermediate-size",
                   moe.moe_shared_expert_intermediate_size);
  arguments.set_if(moe.num_first_dense_layers > 0 || moe.moe_layer_interval > 1, "--moe-layer-freq",
                   fmt::format("\"{}\"", expert_layers(model)));
  arguments.set_if(moe.moe_router_num_groups > 0, "--moe-router-num-groups",
                   moe.moe_router_num_groups);
  arguments.set_if(moe.moe_router_num_groups > 0, "--moe-router-group-topk",
                   moe.moe_router_group_topk);
  arguments.set_if(moe.moe_latent_size > 0, "--moe-latent-size", moe.moe_latent_size);
  arguments.flag_if(moe.moe_shared_expert_gate, "--moe-shared-expert-gate");
  add_megatron_dispatcher(arguments, layout);
  arguments.flag("--moe-grouped-gemm");
  arguments.set_if(moe.moe_expert_capacity_factor > 0.0, "--moe-expert-capacity-factor",
                   moe.moe_expert_capacity_factor);
}

void add_latent_attention(Arguments& arguments, const LatentAttention& mla) {
  arguments.flag("--multi-latent-attention");
  arguments.set_if(mla.q_lora_rank > 0, "--q-lora-rank", mla.q_lora_rank);
  arguments.set("--kv-lora-rank", mla.kv_lora_rank);
  arguments.set("--qk-head-dim", mla.qk_head_dim);
  arguments.set("--qk-pos-emb-head-dim", mla.qk_pos_emb_head_dim);
  arguments.set("--v-head-dim", mla.v_head_dim);
}

void add_linear_attention(Arguments& arguments, const DeltaNet& net) {
  arguments.set("--experimental-attention-variant", "gated_delta_net");
  arguments.set("--linear-attention-freq", net.linear_attention_freq);
  arguments.set("--linear-num-key-heads", net.linear_num_key_heads);
  arguments.set("--linear-num-value-heads", net.linear_num_value_heads);
  arguments.set("--linear-key-head-dim", net.linear_key_head_dim);
  arguments.set("--linear-value-head-dim", net.linear_value_head_dim);
  arguments.set("--linear-conv-kernel-dim", net.linear_conv_kernel_dim);
}

}  // namespace

void add_megatron_dispatcher(Arguments& arguments, const Layout& l) {
  arguments.set("--moe-token-dispatcher-type", name_of(l.moe_token_dispatcher_type));
  arguments.set_if(l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex,
                   "--moe-flex-dispatcher-backend", name_of(l.moe_flex_dispatcher_backend));
  arguments.flag_if(l.overlap_moe_expert_parallel_comm, "--overlap-moe-expert-parallel-comm");
  arguments.flag_if(l.delay_wgrad_compute, "--delay-wgrad-compute");
  arguments.flag_if(l.moe_shared_expert_overlap, "--moe-shared-expert-overlap");
}

Arguments megatron_model_arguments(const Training& t) {
  const Model& m = t.scenario.model;
  Arguments a;
  a.set("--num-layers", m.num_layers);
  a.set("--hidden-size", m.hidden_size);
  a.set("--ffn-hidden-size", m.ffn_hidden_size);
  a.set("--num-attention-heads", m.num_attention_heads);
  if (m.num_query_groups != m.num_attention_heads) {
    a.flag("--group-query-attention");
    a.set("--num-query-groups", m.num_query_groups);
  }
  a.set("--kv-channels", m.kv_channels);
  a.set("--seq-length", t.scenario.job.seq_length);
  a.set("--max-position-embeddings",
        std::max(m.max_position_embeddings, t.scenario.job.seq_length));
  a.flag_if(m.activation == Activation::swiglu, "--swiglu");
  a.set_if(m.normalization == Normalization::rms_norm, "--normalization", "RMSNorm");
  a.flag_if(!m.tied_embeddings, "--untie-embeddings-and-output-weights");
  a.flag_if(!m.add_bias_linear, "--disable-bias-linear");
  a.flag_if(m.add_qkv_bias, "--add-qkv-bias");
  a.flag_if(m.qk_layernorm, "--qk-layernorm");
  const bool yarn = m.rotary_mscale != 1.0 && !m.mla;
  a.set_if(m.position_embedding == PositionEmbedding::rope, "--position-embedding-type",
           yarn ? "yarn" : "rope");
  a.set_if(m.position_embedding == PositionEmbedding::none, "--position-embedding-type", "none");
  a.set("--make-vocab-size-divisible-by", t.scenario.job.make_vocab_size_divisible_by);
  if (m.mla) add_latent_attention(a, *m.mla);
  if (m.linear_attention) add_linear_attention(a, *m.linear_attention);
  a.flag_if(m.attention_output_gate, "--attention-output-gate");
  // Tokens before a token; the window counts the token itself, too.
  const bool window = m.sliding_window > 0 && !m.sliding_window_in_chunks;
  a.set_if(window, "--window-size", fmt::format("{},0", m.sliding_window - 1));
  a.set_if(window && m.sliding_window_interval > 1, "--window-attn-skip-freq",
           m.sliding_window_interval);
  a.set_if(m.attention_sinks, "--softmax-type", "learnable");
  a.set_if(m.activation_func_clamp_value > 0.0, "--activation-func-clamp-value",
           m.activation_func_clamp_value);
  if (m.moe) add_experts(a, m, t.layout);
  a.set_if(m.mtp_num_layers > 0, "--mtp-num-layers", m.mtp_num_layers);
  return a;
}

std::string megatron_model_refusal(const Training& t) {
  const std::string missing = missing_feature(t.scenario.model);
  return missing.empty() ? "" : "its GPT has no " + missing;
}

}  // namespace meshwright::interop
