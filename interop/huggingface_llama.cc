// SPDX-License-Identifier: Apache-2.0
// Llama and what grew out of it: rotary positions, RMS norms, a gated MLP, few key-value heads.
#include <fmt/format.h>

#include <algorithm>

#include "interop/huggingface_families.h"

namespace meshwright::interop::huggingface {
namespace {

constexpr std::string_view kOutputBias =
    "biases in the attention output but not in the MLP are not supported";

void read_llama_common(ObjectReader& config, Model& model, bool tied, std::string_view activation) {
  read_shape(config, model);
  read_grouped_heads(config, model);
  const int width = model.ffn_hidden_size;
  model.ffn_hidden_size = width > 0 ? optional_size(config, {"intermediate_size"}, width)
                                    : config.required_int("intermediate_size");
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 0);
  model.activation = read_activation(config, {"hidden_activation", "hidden_act"}, activation, true);
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = false;
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", tied);
}

}  // namespace

void read_llama(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  const bool attention_bias = config.optional_bool("attention_bias", false);
  refuse_unless(config, "mlp_bias", attention_bias, false,
                "biases in attention and MLP are supported only together");
  model.add_bias_linear = attention_bias;
}

void read_mistral(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  model.sliding_window = read_sliding_window(config, 4096);
}

void read_last_windows(ObjectReader& config, Model& model, int default_first) {
  model.sliding_window = read_sliding_window(config, 4096);
  if (config.has("layer_types")) return read_layer_types(config, model);
  const int first = config.optional_int("max_window_layers", default_first, {0, 1'000'000});
  if (first >= model.num_layers) model.sliding_window = 0;
  if (model.sliding_window > 0 && first > 0) {
    config.fail("max_window_layers",
                "a window in the last layers only is not supported; must be 0 or at least "
                "num_hidden_layers");
  }
}

void read_qwen2(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  model.add_qkv_bias = true;  // in the model's code; no key says so
  if (config.optional_bool("use_sliding_window", false)) read_last_windows(config, model, 28);
}

void read_qwen3(ObjectReader& config, Model& model) {
  read_qwen2(config, model);
  if (!config.has("head_dim")) model.kv_channels = 128;
  refuse_unless(config, "attention_bias", false, false, kOutputBias);
  model.add_qkv_bias = false;
  model.qk_layernorm = true;
}

void read_qwen3_5(ObjectReader& config, Model& model) {
  read_qwen3(config, model);
  if (!config.has("head_dim")) model.kv_channels = 256;
  model.attention_output_gate = config.optional_bool("attn_output_gate", true);
  model.mtp_num_layers = config.optional_int("mtp_num_hidden_layers", 0, {0, 1000});
  read_delta_nets(config, model,
                  {.linear_num_key_heads = 16,
                   .linear_num_value_heads = 32,
                   .linear_key_head_dim = 128,
                   .linear_value_head_dim = 128});
}

void read_phi3(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  model.sliding_window = read_sliding_window(config, 0);
}

void read_gemma(ObjectReader& config, Model& model) {
  read_llama_common(config, model, true, "gelu_pytorch_tanh");
  if (!config.has("head_dim")) model.kv_channels = 256;
  refuse_unless(config, "attention_bias", false, false, kOutputBias);
}

void read_gemma2(ObjectReader& config, Model& model) {
  read_gemma(config, model);
  model.post_layer_norms = true;
  model.sliding_window = read_sliding_window(config, 4096);
  model.sliding_window_interval = 2;
  read_layer_types(config, model);
}

// Its norms stand behind attention and MLP instead of before them: as many, and as dear.
void read_olmo2(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  refuse_unless(config, "attention_bias", false, false, kOutputBias);
  model.qk_layernorm = model.qk_layernorm_all_heads = true;
}

// A plain MLP with xIELU.
void read_apertus(ObjectReader& config, Model& model) {
  read_shape(config, model);
  read_grouped_heads(config, model);
  refuse_unless(config, "attention_bias", false, false, kOutputBias);
  refuse_unless(config, "mlp_bias", false, false, "biases in the MLP are not supported");
  refuse_unless(config, "post_norm", false, false, "norms after the residual are not supported");
  model.ffn_hidden_size = config.required_int("intermediate_size");
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 65536);
  model.activation = read_activation(config, {"hidden_act"}, "xielu", false);
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = false;
  model.qk_layernorm = config.optional_bool("qk_norm", true);
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", false);
}

void read_gemma3(ObjectReader& config, Model& model) {
  model.num_attention_heads = 8;
  model.vocab_size = 262208;
  read_gemma2(config, model);
  if (!config.has("num_key_value_heads")) model.num_query_groups = 4;
  model.qk_layernorm = true;
  if (config.has("layer_types")) return;
  model.sliding_window_interval =
      optional_size(config, {"sliding_window_pattern", "_sliding_window_pattern"}, 6);
}

void read_olmo3(ObjectReader& config, Model& model) {
  read_olmo2(config, model);
  model.sliding_window = read_sliding_window(config, 4096);
  model.sliding_window_interval = 4;
  read_layer_types(config, model);
}

// Keys of a delta net are three quarters as wide as heads of attention, values twice as wide as
// keys.
void read_olmo_hybrid(ObjectReader& config, Model& model) {
  read_olmo2(config, model);
  const int heads = model.num_attention_heads, width = std::max(1, model.kv_channels * 3 / 4);
  read_delta_nets(config, model,
                  {.linear_num_key_heads = heads,
                   .linear_num_value_heads = heads,
                   .linear_key_head_dim = width,
                   .linear_value_head_dim = 2 * width});
}

// A plain MLP with a squared ReLU.
void read_arcee(ObjectReader& config, Model& model) {
  read_shape(config, model);
  read_grouped_heads(config, model);
  const bool biases = config.optional_bool("attention_bias", false);
  refuse_unless(config, "mlp_bias", biases, false,
                "biases in attention and MLP are supported only together");
  model.ffn_hidden_size = config.required_int("intermediate_size");
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 4096);
  model.activation = read_activation(config, {"hidden_act"}, "relu2", false);
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = biases;
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", false);
}

void read_ernie4_5(ObjectReader& config, Model& model) {
  read_llama_common(config, model, true, "silu");
  model.add_bias_linear = config.optional_bool("use_bias", false);
}

// Its norms follow attention and MLP, as OLMo 2's do. "LLLG": three layers with the window, then
// one without.
void read_exaone4(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  model.qk_layernorm = true;
  model.sliding_window = read_sliding_window(config, 4096);
  model.sliding_window_interval = 4;
  if (config.has("layer_types")) return read_layer_types(config, model);
  if (model.sliding_window == 0 || !config.has("sliding_window_pattern")) return;
  if (config.member("sliding_window_pattern").is_number()) {
    model.sliding_window_interval = config.required_int("sliding_window_pattern");
    return;
  }
  const std::string pattern = config.required_string("sliding_window_pattern");
  const bool regular = pattern.ends_with('G') && pattern.find('G') == pattern.size() - 1;
  if (!regular) {
    config.fail("sliding_window_pattern",
                fmt::format("must be L once or more and then one G (got \"{}\")", pattern));
  }
  model.sliding_window_interval = static_cast<int>(pattern.size());
}

void read_glm(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  if (!config.has("head_dim")) model.kv_channels = 128;
  model.add_qkv_bias = config.optional_bool("attention_bias", true);
}

void read_glm4(ObjectReader& config, Model& model) {
  read_glm(config, model);
  model.add_qkv_bias = config.optional_bool("attention_bias", false);
  model.post_layer_norms = true;
}

void read_hunyuan(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  refuse_unless(config, "attention_bias", false, false, kOutputBias);
  refuse_unless(config, "use_cla", false, false,
                "attention across layers (cross-layer keys and values) is not supported");
  model.qk_layernorm = config.optional_bool("use_qk_norm", true);
}

void read_internlm2(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  refuse_unless(config, "bias", false, true, kOutputBias);
}

void read_internlm3(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  refuse_unless(config, "bias", false, false, kOutputBias);
  model.add_qkv_bias = config.optional_bool("qkv_bias", false);
}

void read_mimo(ObjectReader& config, Model& model) {
  read_qwen2(config, model);
  model.mtp_num_layers = config.optional_int("num_nextn_predict_layers", 0, {0, 1000});
}

void read_minicpm(ObjectReader& config, Model& model) {
  read_llama_common(config, model, true, "silu");
  refuse_unless(config, "attention_bias", false, false, kOutputBias);
}

void read_ministral(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  model.sliding_window = read_sliding_window(config, 0);
  read_layer_types(config, model);
}

void read_seed_oss(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  model.add_qkv_bias = config.optional_bool("attention_bias", true);
  refuse_unless(config, "attention_out_bias", false, false, kOutputBias);
  refuse_unless(config, "mlp_bias", false, false, "biases in the MLP alone are not supported");
}

void read_smollm3(ObjectReader& config, Model& model) {
  read_llama(config, model);
  if (!config.optional_bool("use_sliding_window", false)) return;
  model.sliding_window = read_sliding_window(config, 0);
  read_layer_types(config, model);
}

// Layer norms with biases before a Llama block.
void read_stablelm(ObjectReader& config, Model& model) {
  read_llama_common(config, model, false, "silu");
  refuse_unless(config, "use_parallel_residual", false, false,
                "attention beside the MLP is not supported here");
  refuse_unless(config, "qk_layernorm", false, false,
                "a norm of its own for each head is not supported");
  model.normalization = Normalization::layer_norm;
  model.add_qkv_bias = config.optional_bool("use_qkv_bias", false);
}

}  // namespace meshwright::interop::huggingface
