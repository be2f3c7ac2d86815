// SPDX-License-Identifier: Apache-2.0
// Families with recurrent mixers in layers that come in no regular turn: Mamba-1 and 2, Kimi delta
// attention, short convolutions, lightning attention.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "interop/huggingface_families.h"

namespace meshwright::interop::huggingface {
namespace {

constexpr IntRange kHeads{1, 100'000};
constexpr IntRange kWidths{0, 1'000'000};

// A layer's letter of Model::hybrid_layer_pattern. transformers 5 calls every recurrent mixer
// linear_attention; older files have the family's own word.
char letter_of(ObjectReader& config, std::string_view key, const Json& word, bool alone) {
  const std::string said = word.is_string() ? word.get<std::string>() : word.dump();
  if (said == "linear_attention" || said == "mamba" || said == "conv") return alone ? 'M' : 'm';
  if (said == "full_attention" || said == "attention") return alone ? '*' : 'a';
  if (alone && said == "mlp") return '-';
  if (alone && said == "moe") return 'E';
  config.fail(key, fmt::format("has \"{}\"; must be of linear_attention (mamba, conv), "
                               "full_attention (attention){}",
                               said, alone ? ", mlp and moe" : ""));
}

std::string pattern_of(ObjectReader& config, std::string_view key, bool alone) {
  std::string pattern;
  for (const Json& word : config.required_array(key)) {
    pattern += letter_of(config, key, word, alone);
  }
  return pattern;
}

// Sets the pattern of layers that have a mixer and an MLP: listed, or `otherwise`. A model without
// a recurrent layer is a plain one.
bool set_pattern(ObjectReader& config, Model& model, std::string otherwise) {
  std::string pattern = std::move(otherwise);
  for (const std::string_view key : {"layer_types", "layers_block_type"}) {
    if (!config.has(key)) continue;
    pattern = pattern_of(config, key, false);
    if (pattern.size() == static_cast<std::size_t>(model.num_layers)) break;
    if (pattern.find('m') == std::string::npos) return false;
    config.fail(key, fmt::format("must have {} entries, one a layer (got {})", model.num_layers,
                                 pattern.size()));
  }
  if (pattern.find('m') == std::string::npos) return false;
  model.hybrid_layer_pattern = pattern;
  return true;
}

// Recurrent layers but those that `key` lists, counted from `first`.
std::string but_listed(ObjectReader& config, const Model& model, std::string_view key, int first) {
  std::string pattern(static_cast<std::size_t>(model.num_layers), 'm');
  if (!config.has(key)) return pattern;
  for (const Json& index : config.required_array(key)) {
    const bool inside = index.is_number_integer() && index.get<std::int64_t>() >= first &&
                        index.get<std::int64_t>() < first + model.num_layers;
    if (!inside) {
      config.fail(key, fmt::format("must list layers from {} to {} (got {})", first,
                                   first + model.num_layers - 1, index.dump()));
    }
    pattern[static_cast<std::size_t>(index.get<std::int64_t>() - first)] = 'a';
  }
  return pattern;
}

void check_groups(ObjectReader& config, std::string_view key, const StateSpace& space) {
  if (space.mamba_num_heads % space.mamba_num_groups == 0) return;
  config.fail(key, fmt::format("must divide {} heads (got {})", space.mamba_num_heads,
                               space.mamba_num_groups));
}

void refuse_biases(ObjectReader& config, std::string_view linears) {
  refuse_unless(config, linears, false, false, "biases in a mixer's linears are not supported");
}

// Biases belong to the convolution, and to no linear.
void refuse_other_biases(ObjectReader& config, std::string_view linears,
                         std::string_view convolution) {
  refuse_biases(config, linears);
  refuse_unless(config, convolution, true, true, "a convolution without a bias is not supported");
}

// Granite 4, Bamba: mamba_* keys; mamba_d_head "auto" or absent is expand x hidden / heads.
StateSpace read_state_space(ObjectReader& config, const Model& model) {
  refuse_other_biases(config, "mamba_proj_bias", "mamba_conv_bias");
  StateSpace space;
  space.mamba_num_heads = config.optional_int("mamba_n_heads", 128, kHeads);
  const int expand = config.optional_int("mamba_expand", 2, {1, 1'000});
  space.mamba_head_dim =
      static_cast<int>(std::int64_t{expand} * model.hidden_size / space.mamba_num_heads);
  if (config.has("mamba_d_head") && config.member("mamba_d_head").is_number()) {
    space.mamba_head_dim = config.required_int("mamba_d_head", kHeads);
  }
  space.mamba_num_groups = config.optional_int("mamba_n_groups", 1, kHeads);
  space.mamba_state_dim = config.optional_int("mamba_d_state", 256, kHeads);
  space.mamba_conv_kernel_dim = config.optional_int("mamba_d_conv", 4, {1, 1'000});
  space.mamba_chunk_size = config.optional_int("mamba_chunk_size", 256, kHeads);
  check_groups(config, "mamba_n_groups", space);
  return space;
}

// "auto": a sixteenth of the hidden state.
int time_step_rank(ObjectReader& config, std::string_view key, int hidden_size) {
  const bool stated = config.has(key) && config.member(key).is_number();
  return stated ? config.required_int(key, kHeads) : (hidden_size + 15) / 16;
}

// Mamba-2's own names, with which Nemotron-H begins some of them.
StateSpace read_plain_state_space(ObjectReader& config, std::string_view heads,
                                  std::string_view width, std::string_view state) {
  refuse_other_biases(config, "use_bias", "use_conv_bias");
  StateSpace space;
  space.mamba_num_heads = config.optional_int(heads, 128, kHeads);
  space.mamba_head_dim = config.optional_int(width, 64, kHeads);
  space.mamba_num_groups = config.optional_int("n_groups", 8, kHeads);
  space.mamba_state_dim = config.optional_int(state, 128, kHeads);
  space.mamba_conv_kernel_dim = config.optional_int("conv_kernel", 4, {1, 1'000});
  space.mamba_chunk_size = config.optional_int("chunk_size", 256, kHeads);
  check_groups(config, "n_groups", space);
  return space;
}

// "M-M-M*E" before transformers 5; a '|' or a '/' parts what is no block.
std::string nemotron_pattern(ObjectReader& config) {
  if (config.has("layers_block_type")) return pattern_of(config, "layers_block_type", true);
  std::string pattern = config.required_string("hybrid_override_pattern");
  std::erase_if(pattern, [](char c) { return c == '|' || c == '/'; });
  const std::size_t other = pattern.find_first_not_of("M*-E");
  if (other == std::string::npos && !pattern.empty()) return pattern;
  config.fail("hybrid_override_pattern",
              fmt::format("must be of the letters M, *, - and E (got \"{}\")", pattern));
}

MixtureOfExperts read_nemotron_experts(ObjectReader& config) {
  MixtureOfExperts moe = read_routing(config, "n_routed_experts");
  moe.moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  moe.moe_shared_expert_intermediate_size =
      config.optional_int("moe_shared_expert_intermediate_size", 0, kWidths);
  if (!config.is_null("moe_latent_size")) {
    moe.moe_latent_size = config.optional_int("moe_latent_size", 0, kWidths);
  }
  moe.moe_router_bias = true;  // e_score_correction_bias
  read_groups(config, moe);
  return moe;
}

}  // namespace

void read_nemotron_h(ObjectReader& config, Model& model) {
  const std::string pattern = nemotron_pattern(config);
  const auto layers = static_cast<int>(pattern.size());
  model.num_layers = layers;
  read_shape(config, model);
  model.num_layers = layers;
  read_grouped_heads(config, model);
  for (const char* key : {"attention_head_dim", "head_dim"}) {
    if (config.has(key)) model.kv_channels = config.required_int(key, kHeads);
  }
  refuse_unless(config, "attention_bias", false, false, "biases are not supported here");
  refuse_unless(config, "mlp_bias", false, false, "biases are not supported here");
  refuse_unless(config, "mamba_proj_bias", false, false, "biases are not supported here");
  model.ffn_hidden_size = optional_size(config, {"intermediate_size"}, 21504);
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 4096);
  model.activation = read_activation(config, {"mlp_hidden_act"}, "relu2", false);
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::none;
  model.add_bias_linear = false;
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", false);
  model.hybrid_layer_pattern = pattern;
  if (pattern.find('M') != std::string::npos) {
    model.state_space =
        read_plain_state_space(config, "mamba_num_heads", "mamba_head_dim", "ssm_state_size");
  }
  if (pattern.find('E') != std::string::npos) model.moe = read_nemotron_experts(config);
}

// No layer attends: the sizes of attention are those of the state's heads, and no answer has them.
void read_mamba2(ObjectReader& config, Model& model) {
  model.state_space = read_plain_state_space(config, "num_heads", "head_dim", "state_size");
  model.num_attention_heads = model.num_query_groups = model.state_space->mamba_num_heads;
  model.kv_channels = model.state_space->mamba_head_dim;
  read_shape(config, model);
  model.ffn_hidden_size = model.hidden_size;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::none;
  model.add_bias_linear = false;
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", false);
  model.hybrid_layer_pattern.assign(static_cast<std::size_t>(model.num_layers), 'M');
}

// Its MLP is the shared one where there are no experts.
void read_granite_hybrid(ObjectReader& config, Model& model) {
  const int shared = config.optional_int("shared_intermediate_size", 1024, kWidths);
  if (config.optional_int("num_local_experts", 0, kWidths) > 0) {
    read_mixtral(config, model);
    model.moe->moe_shared_expert_intermediate_size = shared;
  } else {
    read_llama(config, model);
    model.ffn_hidden_size = shared;
  }
  if (config.optional_string("position_embedding_type", "nope") != "rope") {
    model.position_embedding = PositionEmbedding::none;
  }
  const std::string all(static_cast<std::size_t>(model.num_layers), 'm');
  if (set_pattern(config, model, all)) model.state_space = read_state_space(config, model);
}

// Attention and Mamba-2 in each layer read one norm. The state's columns may be stated.
void read_falcon_h1(ObjectReader& config, Model& model) {
  read_llama(config, model);
  StateSpace space = read_state_space(config, model);
  const bool stated = config.has("mamba_d_head") && config.member("mamba_d_head").is_number();
  if (!config.is_null("mamba_d_ssm") && !stated) {
    const int columns = config.optional_int("mamba_d_ssm", 1024, kHeads);
    space.mamba_head_dim = std::max(1, columns / space.mamba_num_heads);
  }
  space.mamba_norm = config.optional_bool("mamba_rms_norm", false);
  refuse_biases(config, "projectors_bias");
  model.state_space = space;
  model.hybrid_layer_pattern.assign(static_cast<std::size_t>(model.num_layers), 'b');
}

// No layer attends: attention's sizes are those of one head as wide as the hidden state.
void read_mamba(ObjectReader& config, Model& model) {
  refuse_other_biases(config, "use_bias", "use_conv_bias");
  model.num_attention_heads = model.num_query_groups = 1;
  read_shape(config, model);
  model.ffn_hidden_size = model.kv_channels = model.hidden_size;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::none;
  model.add_bias_linear = false;
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", true);
  model.hybrid_layer_pattern.assign(static_cast<std::size_t>(model.num_layers), 'M');
  const int expand = config.optional_int("expand", 2, {1, 1'000});
  model.selective_scan = SelectiveScan{
      .selective_channels = config.optional_int("intermediate_size", expand * model.hidden_size),
      .selective_state_dim = config.optional_int("state_size", 16, kHeads),
      .selective_dt_rank = time_step_rank(config, "time_step_rank", model.hidden_size),
      .selective_conv_kernel_dim = config.optional_int("conv_kernel", 4, {1, 1'000})};
}

void read_jamba(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  refuse_other_biases(config, "mamba_proj_bias", "mamba_conv_bias");
  model.position_embedding = PositionEmbedding::none;
  if (const int experts = config.optional_int("num_experts", 16, {0, 100'000}); experts > 1) {
    MixtureOfExperts moe;
    moe.num_moe_experts = experts;
    moe.moe_router_topk = config.optional_int("num_experts_per_tok", 2, {1, moe.num_moe_experts});
    moe.moe_ffn_hidden_size = model.ffn_hidden_size;
    moe.moe_layer_interval = config.optional_int("expert_layer_period", 2, {1, 100'000});
    moe.num_first_dense_layers = config.optional_int("expert_layer_offset", 1, {0, 100'000});
    model.moe = moe;
  }
  const int period = config.optional_int("attn_layer_period", 8, {1, 100'000});
  const int offset = config.optional_int("attn_layer_offset", 4, {0, 100'000});
  std::string pattern;
  for (int i = 0; i < model.num_layers; ++i) pattern += i % period == offset ? 'a' : 'm';
  if (!set_pattern(config, model, pattern)) return;
  model.selective_scan = SelectiveScan{
      .selective_channels = config.optional_int("mamba_expand", 2, {1, 1'000}) * model.hidden_size,
      .selective_state_dim = config.optional_int("mamba_d_state", 16, kHeads),
      .selective_dt_rank = time_step_rank(config, "mamba_dt_rank", model.hidden_size),
      .selective_conv_kernel_dim = config.optional_int("mamba_d_conv", 4, {1, 1'000}),
      .selective_norms = true};
}

void read_bamba(ObjectReader& config, Model& model) {
  read_llama(config, model);
  const std::string listed = but_listed(config, model, "attn_layer_indices", 0);
  if (set_pattern(config, model, listed)) model.state_space = read_state_space(config, model);
}

// Latent attention without rotary positions, and the experts of DeepSeek-V3 by other names.
void read_kimi_linear(ObjectReader& config, Model& model) {
  read_latent(config, model);
  if (config.optional_bool("mla_use_nope", true)) {
    model.position_embedding = PositionEmbedding::none;
  }
  MixtureOfExperts moe;
  moe.num_moe_experts = config.required_int("num_experts");
  moe.moe_router_topk = config.required_int("num_experts_per_token", {1, moe.num_moe_experts});
  moe.moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  moe.moe_shared_expert_intermediate_size =
      config.optional_int("num_shared_experts", 0, {0, 1000}) * moe.moe_ffn_hidden_size;
  moe.num_first_dense_layers = leading_dense_layers(config, 0);
  moe.moe_layer_interval = config.optional_int("moe_layer_freq", 1, {1, 1});
  const int groups = config.optional_int("num_expert_group", 1, {1, 100'000});
  if (groups > 1) {
    moe.moe_router_num_groups = groups;
    moe.moe_router_group_topk = config.optional_int("topk_group", groups, {1, groups});
  }
  moe.moe_router_bias = true;  // e_score_correction_bias
  model.moe = moe;
  KimiDelta kda{
      .kda_num_heads = config.optional_int("linear_num_heads", 32, kHeads),
      .kda_head_dim = config.optional_int("linear_head_dim", 128, kHeads),
      .kda_conv_kernel_dim = config.optional_int("linear_conv_kernel_dim", 4, {1, 1'000})};
  std::string listed(static_cast<std::size_t>(model.num_layers), 'm');
  if (config.has("linear_attn_config")) {
    ObjectReader linear = config.required_object("linear_attn_config");
    kda.kda_num_heads = linear.optional_int("num_heads", kda.kda_num_heads, kHeads);
    kda.kda_head_dim = linear.optional_int("head_dim", kda.kda_head_dim, kHeads);
    kda.kda_conv_kernel_dim =
        linear.optional_int("short_conv_kernel_size", kda.kda_conv_kernel_dim, {1, 1'000});
    listed = but_listed(linear, model, "full_attn_layers", 1);
  }
  if (set_pattern(config, model, listed)) model.kimi_delta = kda;
}

// LFM2's MLP is two thirds as wide as stated, and up to a multiple.
void read_lfm2(ObjectReader& config, Model& model) {
  refuse_unless(config, "conv_bias", false, false, "biases in a mixer's linears are not supported");
  if (config.has("block_ff_dim"))
    model.ffn_hidden_size = config.required_int("block_ff_dim", kWidths);
  read_llama(config, model);
  model.tied_embeddings = config.optional_bool(
      config.has("tie_embedding") ? "tie_embedding" : "tie_word_embeddings", true);
  model.qk_layernorm = true;
  if (config.optional_bool("block_auto_adjust_ff_dim", true)) {
    const double factor = config.optional_number("block_ffn_dim_multiplier", 1.0, {0.0, 1e3});
    const int multiple = config.optional_int("block_multiple_of", 256, kHeads);
    const double stated = std::trunc(2.0 * model.ffn_hidden_size / 3.0);
    const int narrow = static_cast<int>(std::min(1e8, factor * stated));
    model.ffn_hidden_size = (narrow + multiple - 1) / multiple * multiple;
  }
  const std::string listed = but_listed(config, model, "full_attn_idxs", 0);
  if (!set_pattern(config, model, listed)) return;
  model.short_convolution = ShortConvolution{config.optional_int("conv_L_cache", 3, {1, 1'000})};
}

void read_lfm2_moe(ObjectReader& config, Model& model) {
  refuse_unless(config, "conv_bias", false, false, "biases in a mixer's linears are not supported");
  read_llama(config, model);
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", true);
  model.qk_layernorm = true;
  model.moe = read_routing(config, "num_experts");
  model.moe->moe_ffn_hidden_size = config.required_int("moe_intermediate_size", {1, 1'000'000});
  model.moe->num_first_dense_layers = config.optional_int("num_dense_layers", 2, {0, 100'000});
  model.moe->moe_router_bias = config.optional_bool("use_expert_bias", true);
  if (!set_pattern(config, model, std::string(static_cast<std::size_t>(model.num_layers), 'm')))
    return;
  model.short_convolution = ShortConvolution{config.optional_int("conv_L_cache", 3, {1, 1'000})};
}

// Heads of lightning attention are those of attention. MiniMax-Text-01 lists 0 for it and 1 for
// softmax attention; without a list every second layer of transformers' class is lightning.
void read_minimax(ObjectReader& config, Model& model) {
  read_mixtral(config, model);
  std::string pattern;
  for (int i = 0; i < model.num_layers; ++i) pattern += i % 2 == 0 ? 'a' : 'm';
  if (config.has("attn_type_list")) {
    const Json& kinds = config.required_array("attn_type_list");
    if (kinds.size() != pattern.size()) {
      config.fail("attn_type_list", fmt::format("must have {} entries, one a layer (got {})",
                                                pattern.size(), kinds.size()));
    }
    for (std::size_t i = 0; i < kinds.size(); ++i) pattern[i] = kinds[i] == 0 ? 'm' : 'a';
  }
  if (!set_pattern(config, model, pattern)) return;
  model.lightning_attention =
      Lightning{.lightning_num_heads = model.num_attention_heads,
                .lightning_head_dim = model.kv_channels,
                .lightning_chunk_size = config.optional_int("block_size", 256, kHeads)};
}

}  // namespace meshwright::interop::huggingface
