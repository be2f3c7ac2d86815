// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts behind plain attention: Mixtral, Qwen3, GLM-4.5, gpt-oss, Llama 4, ...
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interop/huggingface_families.h"

namespace meshwright::interop::huggingface {
namespace {

// mlp_only_layers: dense although their turn would come. Only a run from layer 0 on is known.
int mlp_only_layers(ObjectReader& config) {
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

// Qwen: every decoder_sparse_step-th layer has experts, but those of mlp_only_layers.
MixtureOfExperts read_sparse_step(ObjectReader& config) {
  MixtureOfExperts moe =
      read_routing(config, config.has("num_experts") ? "num_experts" : "num_local_experts");
  moe.moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  moe.moe_layer_interval = config.optional_int("decoder_sparse_step", 1, {1, 100'000});
  moe.num_first_dense_layers =
      next_turn(mlp_only_layers(config), moe.moe_layer_interval, moe.moe_layer_interval - 1);
  return moe;
}

void read_gated_shared_expert(ObjectReader& config, Model& model) {
  MixtureOfExperts& moe = *model.moe;
  moe.moe_shared_expert_intermediate_size =
      config.required_int("shared_expert_intermediate_size", {0, 1'000'000});
  moe.moe_shared_expert_gate = moe.moe_shared_expert_intermediate_size > 0;
}

// A size, or a list of the same size for each layer.
int same_for_all(ObjectReader& config, std::string_view key, int default_value) {
  if (default_value > 0 && !config.has(key)) return default_value;
  if (config.member(key).is_number()) return config.required_int(key, {0, 1'000'000});
  const Json& sizes = config.required_array(key);
  const bool same =
      !sizes.empty() && sizes[0].is_number_unsigned() &&
      std::all_of(sizes.begin(), sizes.end(), [&](const Json& size) { return size == sizes[0]; });
  if (!same || sizes[0].get<std::uint64_t>() > 1'000'000) {
    config.fail(key, "must be one size, or the same size up to 1000000 for each layer");
  }
  return sizes[0].get<int>();
}

// YaRN's factor on rotated queries and keys (arXiv 2309.00071, 3.4): attention_factor, or 0.1
// ln(factor) + 1.
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

}  // namespace

MixtureOfExperts read_routing(ObjectReader& config, std::string_view experts) {
  MixtureOfExperts moe;
  moe.num_moe_experts = config.required_int(experts);
  moe.moe_router_topk = config.required_int("num_experts_per_tok", {1, moe.num_moe_experts});
  return moe;
}

// transformers 5 lists words, MiniMax-M3's file 0 and 1 under a key that is a number elsewhere.
int leading_dense_layers(ObjectReader& config, int default_value) {
  const bool listed = config.has("moe_layer_freq") && config.member("moe_layer_freq").is_array();
  const char* const key = config.has("mlp_layer_types") ? "mlp_layer_types" : "moe_layer_freq";
  if (!config.has("mlp_layer_types") && !listed) {
    return config.is_null("first_k_dense_replace")
               ? 0
               : config.optional_int("first_k_dense_replace", default_value, {0, 100'000});
  }
  const Json& layers = config.required_array(key);
  const auto dense = [](const Json& layer) { return layer == "dense" || layer == 0; };
  const auto first = std::find_if_not(layers.begin(), layers.end(), dense);
  if (std::any_of(first, layers.end(), dense)) {
    config.fail(key, "must be dense layers first, and then layers with experts");
  }
  return static_cast<int>(first - layers.begin());
}

void read_groups(ObjectReader& config, MixtureOfExperts& moe) {
  const int groups =
      config.is_null("n_group") ? 0 : config.optional_int("n_group", 0, {0, 100'000});
  if (groups <= 1) return;
  moe.moe_router_num_groups = groups;
  moe.moe_router_group_topk = config.optional_int("topk_group", groups, {1, groups});
}

MixtureOfExperts read_grouped_experts(ObjectReader& config, int default_dense_layers) {
  MixtureOfExperts moe = read_routing(config, "n_routed_experts");
  moe.moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  moe.moe_shared_expert_intermediate_size =
      config.optional_int("n_shared_experts", 0, {0, 1000}) * moe.moe_ffn_hidden_size;
  moe.moe_layer_interval = config.optional_int("moe_layer_freq", 1, {1, 100'000});
  moe.num_first_dense_layers =
      next_turn(leading_dense_layers(config, default_dense_layers), moe.moe_layer_interval, 0);
  read_groups(config, moe);
  return moe;
}

void read_mixtral(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  model.moe = read_routing(config, "num_local_experts");
  model.moe->moe_ffn_hidden_size = model.ffn_hidden_size;
}

void read_qwen3_moe(ObjectReader& config, Model& model) {
  read_qwen3(config, model);
  model.kv_channels = config.required_int("head_dim");
  model.moe = read_sparse_step(config);
}

// Qwen3-Next, and Qwen3.5 with experts. Layers of mlp_only_layers are intermediate_size wide.
void read_qwen3_next(ObjectReader& config, Model& model) {
  model.ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  read_qwen3_5(config, model);
  model.moe = read_sparse_step(config);
  read_gated_shared_expert(config, model);
}

// Qwen1.5-MoE and Qwen2-MoE: a shared expert with a gate of its own.
void read_qwen2_moe(ObjectReader& config, Model& model) {
  read_qwen2(config, model);
  model.moe = read_sparse_step(config);
  read_gated_shared_expert(config, model);
}

// Ling: biases of the router balance it where moe_router_enable_expert_bias says so.
void read_bailing_moe(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  refuse_unless(config, "use_bias", false, false, "biases in every linear are not supported");
  model.add_qkv_bias = config.optional_bool("use_qkv_bias", false);
  model.qk_layernorm = config.optional_bool("use_qk_norm", false);
  MixtureOfExperts moe = read_routing(config, "num_experts");
  moe.moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  const int shared = config.optional_int("num_shared_experts", 0, {0, 1000});
  moe.moe_shared_expert_intermediate_size =
      shared * config.optional_int("moe_shared_expert_intermediate_size", moe.moe_ffn_hidden_size,
                                   {0, 1'000'000});
  moe.num_first_dense_layers = config.optional_int("first_k_dense_replace", 0, {0, 100'000});
  moe.moe_router_bias = config.optional_bool("moe_router_enable_expert_bias", false);
  read_groups(config, moe);
  model.moe = moe;
  model.mtp_num_layers = config.optional_int("num_nextn_predict_layers", 0, {0, 1000});
}

// The experts of DeepSeek-V2 behind plain attention.
void read_deepseek(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  model.moe = read_grouped_experts(config, 0);
}

// The window is that of the last layers, as Qwen2's.
void read_dots1(ObjectReader& config, Model& model) {
  read_deepseek(config, model);
  read_last_windows(config, model, 62);
  refuse_unless(config, "attention_bias", false, false,
                "biases in the attention output are not supported");
  model.qk_layernorm = true;
  model.moe->moe_router_bias = true;  // e_score_correction_bias
}

void read_ernie4_5_moe(ObjectReader& config, Model& model) {
  read_ernie4_5(config, model);
  MixtureOfExperts moe;
  moe.num_moe_experts = config.required_int("moe_num_experts");
  moe.moe_router_topk = config.required_int("moe_k", {1, moe.num_moe_experts});
  moe.moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  moe.moe_shared_expert_intermediate_size =
      config.optional_int("moe_num_shared_experts", 0, {0, 1000}) * moe.moe_ffn_hidden_size;
  moe.num_first_dense_layers = config.optional_int("moe_layer_start_index", 1, {0, 100'000});
  moe.moe_layer_interval = config.optional_int("moe_layer_interval", 1, {1, 100'000});
  const int last = config.optional_int("moe_layer_end_index", -1, {-1, 100'000});
  if (last != -1 && last != model.num_layers - 1) {
    config.fail("moe_layer_end_index",
                fmt::format("must be the last layer, {}, is {}: dense layers after those with "
                            "experts are not supported",
                            model.num_layers - 1, last));
  }
  moe.moe_router_bias = true;  // moe_statics.e_score_correction_bias
  model.moe = moe;
}

// Sizes are one number, or a list with the same number for each layer.
void read_hunyuan_moe(ObjectReader& config, Model& model) {
  read_hunyuan(config, model);
  MixtureOfExperts moe;
  moe.num_moe_experts = same_for_all(config, "num_experts", 0);
  moe.moe_router_topk = same_for_all(config, "moe_topk", 1);
  moe.moe_ffn_hidden_size = same_for_all(config, "moe_intermediate_size", model.ffn_hidden_size);
  moe.moe_shared_expert_intermediate_size =
      config.optional_bool("use_mixed_mlp_moe", true)
          ? same_for_all(config, "num_shared_expert", 1) * model.ffn_hidden_size
          : 0;
  moe.num_first_dense_layers = config.optional_int("moe_layer_num_skipped", 0, {0, 100'000});
  model.moe = moe;
}

// intermediate_size is an expert's; no layer is dense.
void read_minimax_m2(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  model.qk_layernorm = config.optional_bool("use_qk_norm", true);
  model.qk_layernorm_all_heads =
      model.qk_layernorm && config.optional_string("qk_norm_type", "per_layer") == "per_layer";
  if (config.optional_int("shared_intermediate_size", 0, {0, 1'000'000}) != 0) {
    config.fail("shared_intermediate_size", "a shared expert is not supported here; must be 0");
  }
  model.moe = read_routing(config, "num_local_experts");
  model.moe->moe_ffn_hidden_size = model.ffn_hidden_size;
  model.moe->moe_router_bias = config.optional_bool("use_routing_bias", true);
  if (!config.optional_bool("use_mtp", false)) return;
  model.mtp_num_layers = config.optional_int("num_mtp_modules", 1, {0, 1000});
}

// intermediate_size is an expert's.
void read_olmoe(ObjectReader& config, Model& model) {
  read_olmo2(config, model);
  model.moe = read_routing(config, "num_experts");
  model.moe->moe_ffn_hidden_size = model.ffn_hidden_size;
}

void read_glm4_moe(ObjectReader& config, Model& model) {
  // Without head_dim the class rounds down: 96 heads of a hidden state of 4096 are 42 wide.
  model.kv_channels = std::max(
      1, required_size(config, {"hidden_size"}) / required_size(config, {"num_attention_heads"}));
  read_phi3(config, model);
  model.add_qkv_bias = config.optional_bool("attention_bias", false);
  model.qk_layernorm = config.optional_bool("use_qk_norm", false);
  model.moe = read_grouped_experts(config, 1);
  model.moe->moe_router_bias = true;  // e_score_correction_bias
  model.mtp_num_layers = config.optional_int("num_nextn_predict_layers", 0, {0, 1000});
}

// intermediate_size is an expert's, intermediate_size_mlp a dense layer's; every token also passes
// a shared expert. Its norms of queries and keys have no numbers. Layers with rotary positions
// attend within chunks, the others to all positions.
void read_llama4(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  refuse_unless(config, "attention_bias", false, false,
                "biases in attention but not in the MLP are not supported");
  const bool whole = config.is_null("attention_chunk_size");
  model.sliding_window = whole ? 0 : config.optional_int("attention_chunk_size", 8192);
  model.sliding_window_interval =
      whole ? 1 : config.optional_int("no_rope_layer_interval", 4, {2, 100'000});
  model.sliding_window_in_chunks = !whole;
  MixtureOfExperts moe = read_routing(config, "num_local_experts");
  moe.moe_ffn_hidden_size = model.ffn_hidden_size;
  moe.moe_shared_expert_intermediate_size = model.ffn_hidden_size;
  moe.moe_layer_interval = config.optional_int("interleave_moe_layer_step", 1, {1, 100'000});
  moe.num_first_dense_layers = moe.moe_layer_interval - 1;
  model.ffn_hidden_size = config.optional_int("intermediate_size_mlp", 16384);
  model.moe = moe;
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
