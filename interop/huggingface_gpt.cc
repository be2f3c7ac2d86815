// SPDX-License-Identifier: Apache-2.0
// GPT-2 and its contemporaries: layer norms, a plain MLP, mostly biases everywhere.
#include "interop/huggingface_families.h"

namespace meshwright::interop::huggingface {
namespace {

constexpr std::string_view kPostNorm = "norms after the residual are not supported";

void read_gpt_common(ObjectReader& config, Model& model) {
  read_shape(config, model);
  read_even_heads(config, model);
  model.normalization = Normalization::layer_norm;
  model.add_bias_linear = true;
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", true);
}

}  // namespace

void read_gpt2(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  refuse_unless(config, "add_cross_attention", false, false, "cross-attention is not supported");
  model.ffn_hidden_size = optional_size(config, {"n_inner"}, 4 * model.hidden_size);
  model.max_position_embeddings = required_size(config, {"n_positions", "max_position_embeddings"});
  model.position_embedding = PositionEmbedding::learned;
  model.activation =
      read_activation(config, {"activation_function", "hidden_act"}, "gelu_new", false);
}

void read_gpt_neox(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  refuse_unless(config, "attention_bias", true, true,
                "attention without biases beside an MLP with biases is not supported");
  model.ffn_hidden_size = config.required_int("intermediate_size");
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 0);
  model.position_embedding = PositionEmbedding::rope;
  model.activation = read_activation(config, {"hidden_act"}, "gelu", false);
  model.parallel_attention_mlp = config.optional_bool("use_parallel_residual", true);
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", false);
}

void read_opt(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  refuse_unless(config, "do_layer_norm_before", true, true, kPostNorm);
  refuse_unless(config, "enable_bias", true, true, "OPT without biases is not supported");
  refuse_unless(config, "layer_norm_elementwise_affine", true, true,
                "norms without parameters are not supported");
  refuse_unless(config, "_remove_final_layer_norm", false, false,
                "a model without its final norm is not supported");
  const int embedded = optional_size(config, {"word_embed_proj_dim"}, model.hidden_size);
  if (embedded != model.hidden_size) {
    config.fail("word_embed_proj_dim",
                "must equal hidden_size: projected embeddings are not "
                "supported");
  }
  model.ffn_hidden_size = required_size(config, {"ffn_dim", "intermediate_size"});
  // Two rows of the position table stand in front of the first position (padding).
  model.max_position_embeddings =
      config.required_int("max_position_embeddings", {1, 999'999'998}) + 2;
  model.position_embedding = PositionEmbedding::learned;
  model.activation = read_activation(config, {"activation_function"}, "relu", false);
}

void read_bloom(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  refuse_unless(config, "apply_residual_connection_post_layernorm", false, false, kPostNorm);
  model.ffn_hidden_size = optional_size(config, {"n_inner"}, 4 * model.hidden_size);
  model.max_position_embeddings = 0;
  model.position_embedding = PositionEmbedding::alibi;
  model.activation = Activation::gelu;
  model.embedding_layer_norm = true;
}

// Falcon's checkpoints store the head's matrix although the class ties it: their files hold
// vocab x hidden numbers more than the model has.
void read_falcon(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  const bool new_decoder = config.optional_bool("new_decoder_architecture", false);
  const bool multi_query = config.optional_bool("multi_query", true);
  const int heads = model.num_attention_heads;
  model.num_query_groups = optional_size(config, {"num_kv_heads", "n_head_kv"}, heads);
  if (!new_decoder && multi_query) model.num_query_groups = 1;
  if (!new_decoder && !multi_query) model.num_query_groups = heads;
  if (heads % model.num_query_groups != 0) {
    config.fail("num_kv_heads", "must divide num_attention_heads");
  }
  model.add_bias_linear = config.optional_bool("bias", false);
  model.ffn_hidden_size = optional_size(config, {"ffn_hidden_size"}, 4 * model.hidden_size);
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 2048);
  model.position_embedding =
      config.optional_bool("alibi", false) ? PositionEmbedding::alibi : PositionEmbedding::rope;
  model.activation = read_activation(config, {"activation"}, "gelu", false);
  model.parallel_attention_mlp = new_decoder || config.optional_bool("parallel_attn", true);
  const int norms = config.optional_int("num_ln_in_parallel_attn", new_decoder ? 2 : 1, {1, 2});
  model.parallel_shared_layer_norm = model.parallel_attention_mlp && norms == 1;
}

void read_starcoder2(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  read_grouped_heads(config, model);
  refuse_unless(config, "use_bias", true, true, "StarCoder 2 without biases is not supported");
  model.ffn_hidden_size = config.required_int("intermediate_size");
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 0);
  model.position_embedding = PositionEmbedding::rope;
  model.activation = read_activation(config, {"hidden_act"}, "gelu_pytorch_tanh", false);
  model.sliding_window = read_sliding_window(config, 0);
}

// A plain MLP with a squared ReLU, layer norms with biases, linears without.
void read_nemotron(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  read_grouped_heads(config, model);
  refuse_unless(config, "attention_bias", false, false, "Nemotron with biases is not supported");
  refuse_unless(config, "mlp_bias", false, false, "Nemotron with biases is not supported");
  model.ffn_hidden_size = config.required_int("intermediate_size");
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 0);
  model.position_embedding = PositionEmbedding::rope;
  model.activation = read_activation(config, {"hidden_act"}, "relu2", false);
  model.add_bias_linear = false;
  model.tied_embeddings = config.optional_bool("tie_word_embeddings", false);
}

// Its norms have weights and no biases, as RMS norms have, and are priced as such.
void read_mpt(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  refuse_unless(config, "no_bias", true, true, "MPT with biases is not supported");
  const double ratio = config.optional_number("expansion_ratio", 4.0, {0.1, 64.0});
  model.ffn_hidden_size = static_cast<int>(ratio * model.hidden_size);
  model.add_bias_linear = false;
  model.normalization = Normalization::rms_norm;
  model.activation = Activation::gelu;
  const int positions = optional_size(config, {"max_seq_len"}, 2048);
  bool alibi = false;
  if (config.has("attn_config")) {
    ObjectReader attention = config.required_object("attn_config");
    alibi = attention.optional_bool("alibi", false);
    if (attention.optional_string("attn_type", "") == "multiquery_attention") {
      model.num_query_groups = 1;
    }
  }
  const bool learned = !alibi && config.optional_bool("learned_pos_emb", true);
  model.position_embedding = alibi     ? PositionEmbedding::alibi
                             : learned ? PositionEmbedding::learned
                                       : PositionEmbedding::none;
  model.max_position_embeddings = learned ? positions : 0;
}

// Command R: attention and MLP read one norm, which has weights and no biases.
void read_cohere(ObjectReader& config, Model& model) {
  read_gpt_common(config, model);
  read_grouped_heads(config, model);
  refuse_unless(config, "attention_bias", false, false, "Command R with biases is not supported");
  // A weight for each head's own columns.
  model.qk_layernorm = config.optional_bool("use_qk_norm", false);
  model.qk_layernorm_all_heads = model.qk_layernorm;
  model.ffn_hidden_size = config.required_int("intermediate_size");
  model.max_position_embeddings = optional_size(config, {"max_position_embeddings"}, 0);
  model.position_embedding = PositionEmbedding::rope;
  model.activation = read_activation(config, {"hidden_act"}, "silu", true);
  model.normalization = Normalization::rms_norm;
  model.add_bias_linear = false;
  model.parallel_attention_mlp = true;
  model.parallel_shared_layer_norm = true;
}

// Command R7B: three layers with a window, then one without.
void read_cohere2(ObjectReader& config, Model& model) {
  read_cohere(config, model);
  model.sliding_window = read_sliding_window(config, 4096);
  model.sliding_window_interval = optional_size(config, {"sliding_window_pattern"}, 4);
  read_layer_types(config, model);
}

}  // namespace meshwright::interop::huggingface
