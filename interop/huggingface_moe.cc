// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: Mixtral, Qwen3, DeepSeek, GLM-4.5, gpt-oss, Llama 4; and what is none of
// ours.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "interop/huggingface_families.h"

namespace meshwright::interop::huggingface {
namespace {

MixtureOfExperts read_routing(ObjectReader& config, std::string_view experts) {
  MixtureOfExperts moe;
  moe.num_moe_experts = config.required_int(experts);
  moe.moe_router_topk = config.required_int("num_experts_per_tok", {1, moe.num_moe_experts});
  return moe;
}

// mlp_only_layers: dense although their turn would come. Only a run from layer 0 on is known.
int leading_dense_layers(ObjectReader& config) {
  if (!config.has("mlp_only_layers")) return 0;
  const Json& layers = config.required_array("mlp_only_layers");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].is_number_unsigned() && layers[i].get<std::size_t>() == i) continue;
    config.fail(
        "mlp_only_layers",
        fmt::format("is {}; only the first layers, [0, 1, ...], are supported", layers.dump()));
  }
  return static_cast<int>(layers.size());
}

// The first layer at or after `first` whose turn it is when every `interval`-th one has experts.
int next_turn(int first, int interval, int turn) {
  const int late = (first - turn) % interval;
  if (first <= turn) return turn;
  return late == 0 ? first : first + interval - late;
}

LatentAttention read_latent_attention(ObjectReader& config) {
  LatentAttention mla;
  mla.q_lora_rank = config.is_null("q_lora_rank") ? 0 : config.optional_int("q_lora_rank", 1536);
  mla.kv_lora_rank = config.optional_int("kv_lora_rank", 512);
  mla.qk_head_dim = config.optional_int("qk_nope_head_dim", 128);
  mla.qk_pos_emb_head_dim = config.optional_int("qk_rope_head_dim", 64);
  mla.v_head_dim = config.optional_int("v_head_dim", 128);
  return mla;
}

// One group, which all tokens choose from, is none.
void read_groups(ObjectReader& config, MixtureOfExperts& moe) {
  const int groups =
      config.is_null("n_group") ? 0 : config.optional_int("n_group", 0, {0, 100'000});
  if (groups <= 1) return;
  moe.moe_router_num_groups = groups;
  moe.moe_router_group_topk = config.optional_int("topk_group", groups, {1, groups});
}

MixtureOfExperts read_grouped_experts(ObjectReader& config) {
  MixtureOfExperts moe = read_routing(config, "n_routed_experts");
  moe.moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  moe.moe_shared_expert_intermediate_size =
      config.optional_int("n_shared_experts", 0, {0, 1000}) * moe.moe_ffn_hidden_size;
  moe.moe_layer_interval = config.optional_int("moe_layer_freq", 1, {1, 100'000});
  const int first = config.optional_int("first_k_dense_replace", 0, {0, 100'000});
  moe.num_first_dense_layers = next_turn(first, moe.moe_layer_interval, 0);
  read_groups(config, moe);
  return moe;
}

// What YaRN multiplies rotated queries and keys by (arXiv 2309.00071, 3.4): attention_factor, or
// 0.1 ln(factor) + 1.
double yarn_mscale(ObjectReader& config) {
  // transformers 5 calls it rope_parameters.
  const char* const key = config.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  if (!config.has(key)) return 1.0;
  ObjectReader scaling = config.required_object(key);
  const std::string older = scaling.optional_string("type", "");
  if (scaling.optional_string("rope_type", older) != "yarn") return 1.0;
  const double factor = scaling.optional_number("factor", 1.0, {1.0, 1e6});
  return scaling.optional_number("attention_factor", 0.1 * std::log(factor) + 1.0, {0.0, 1e3});
}

struct BlockCounts {
  std::int64_t all = 0, mamba = 0, attention = 0, mlp = 0, experts = 0;
};

BlockCounts pattern_blocks(const std::string& pattern) {
  const auto count = [&](char c) { return std::count(pattern.begin(), pattern.end(), c); };
  BlockCounts blocks{0, count('M'), count('*'), count('-'), count('E')};
  blocks.all = blocks.mamba + blocks.attention + blocks.mlp + blocks.experts;
  return blocks;
}

BlockCounts named_blocks(const Json& names) {
  const auto count = [&](const char* name) { return std::count(names.begin(), names.end(), name); };
  return {static_cast<std::int64_t>(names.size()), count("mamba"), count("attention"), count("mlp"),
          count("moe")};
}

}  // namespace

void read_mixtral(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  model.moe = read_routing(config, "num_local_experts");
  model.moe->moe_ffn_hidden_size = model.ffn_hidden_size;
}

void read_qwen3_moe(ObjectReader& config, Model& model) {
  read_qwen3(config, model);
  model.kv_channels = config.required_int("head_dim");
  MixtureOfExperts moe =
      read_routing(config, config.has("num_experts") ? "num_experts" : "num_local_experts");
  moe.moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  moe.moe_layer_interval = config.optional_int("decoder_sparse_step", 1, {1, 100'000});
  moe.num_first_dense_layers =
      next_turn(leading_dense_layers(config), moe.moe_layer_interval, moe.moe_layer_interval - 1);
  model.moe = moe;
}

void read_deepseek_v2(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  refuse_unless(config, "attention_bias", false, false,
                "biases in latent attention are not supported");
  model.mla = read_latent_attention(config);
  // One latent vector serves all heads; num_key_value_heads says nothing about it.
  model.num_query_groups = model.num_attention_heads;
  model.kv_channels = model.mla->qk_head_dim + model.mla->qk_pos_emb_head_dim;
  model.moe = read_grouped_experts(config);
}

void read_deepseek_v3(ObjectReader& config, Model& model) {
  read_deepseek_v2(config, model);
  model.moe->moe_router_bias = true;  // e_score_correction_bias: balances without a loss
  model.mtp_num_layers = config.optional_int("num_nextn_predict_layers", 0, {0, 1000});
}

void read_glm4_moe(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  model.add_qkv_bias = config.optional_bool("attention_bias", false);
  model.qk_layernorm = config.optional_bool("use_qk_norm", false);
  model.moe = read_grouped_experts(config);
  model.moe->moe_router_bias = true;  // e_score_correction_bias
  model.mtp_num_layers = config.optional_int("num_nextn_predict_layers", 0, {0, 1000});
}

// intermediate_size is an expert's, intermediate_size_mlp a dense layer's; every token also passes
// a shared expert. Its norms of queries and keys have no numbers.
void read_llama4(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  refuse_unless(config, "attention_bias", false, false,
                "biases in attention but not in the MLP are not supported");
  MixtureOfExperts moe = read_routing(config, "num_local_experts");
  moe.moe_ffn_hidden_size = model.ffn_hidden_size;
  moe.moe_shared_expert_intermediate_size = model.ffn_hidden_size;
  moe.moe_layer_interval = config.optional_int("interleave_moe_layer_step", 1, {1, 100'000});
  moe.num_first_dense_layers = moe.moe_layer_interval - 1;
  model.ffn_hidden_size = config.optional_int("intermediate_size_mlp", 16384);
  model.moe = moe;
}

// transformers 4: "M-M-M*E", M a Mamba-2 layer, * attention, - an MLP, E experts, each a block of
// its own; transformers 5 lists their names. A '|' or a '/' parts what is no block.
void read_nemotron_h(ObjectReader& config, Model& /*model*/) {
  BlockCounts blocks;
  std::string_view key = "hybrid_override_pattern";
  if (config.has("layers_block_type")) {
    key = "layers_block_type";
    blocks = named_blocks(config.required_array(key));
  } else {
    blocks = pattern_blocks(config.required_string(key));
  }
  std::vector<std::string> missing{
      "the Mamba-2 layers (state-space scan, causal convolution, gated norm, state of each head)",
      "blocks that are attention or an MLP alone, with one norm (a layer here has both)"};
  if (blocks.experts > 0) missing.emplace_back("blocks that are experts alone");
  if (config.has("moe_latent_size")) {
    missing.emplace_back("experts behind a projection to moe_latent_size");
  }
  config.fail(key,
              fmt::format("of {} blocks {} are Mamba-2 layers, {} attention, {} MLPs, {} experts; "
                          "not modelled are {}",
                          blocks.all, blocks.mamba, blocks.attention, blocks.mlp, blocks.experts,
                          fmt::join(missing, "; ")),
              "a transformer of the same parameters would be priced otherwise: nothing is guessed");
}

void read_gpt_oss(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  model.rotary_mscale = yarn_mscale(config);
  if (!config.has("head_dim")) model.kv_channels = 64;
  model.sliding_window = read_sliding_window(config, 128);
  model.sliding_window_interval = 2;
  read_layer_types(config, model);
  model.add_bias_linear = config.optional_bool("attention_bias", true);
  model.attention_sinks = true;
  MixtureOfExperts moe = read_routing(config, "num_local_experts");
  moe.moe_ffn_hidden_size = model.ffn_hidden_size;
  moe.moe_expert_bias = true;
  moe.moe_router_bias = true;
  model.moe = moe;
  model.activation_func_clamp_value = config.optional_number("swiglu_limit", 7.0, {0.0, 1e9});
}

}  // namespace meshwright::interop::huggingface
