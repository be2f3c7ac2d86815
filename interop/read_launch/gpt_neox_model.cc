// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX's model (megatron/neox_arguments/neox_args.py, NeoXArgsModel; megatron/model/
// transformer.py, ParallelMLP and LLaMAParallelMLP; megatron/tokenizer/tokenizer.py).
#include <algorithm>
#include <array>

#include "interop/read_launch/gpt_neox_parts.h"
#include "sim/base/error.h"
#include "sim/block/parameters.h"

namespace meshwright::interop {
namespace {

void require_gpt_neox(LaunchReading& r, int& target, const char* field, const char* key,
                      const std::string& file) {
  if (r.integer(target, field, key, kModelSizes)) return;
  throw InputError(file, "", fmt::format("{} is missing", key),
                   "GPT-NeoX merges several files: put them into one, or name the model with "
                   "--model");
}

void read_neox_attention_shape(LaunchReading& r, const std::string& file) {
  Model& m = r.record().model;
  require_gpt_neox(r, m.num_layers, "num_layers", "num_layers", file);
  require_gpt_neox(r, m.hidden_size, "hidden_size", "hidden_size", file);
  require_gpt_neox(r, m.num_attention_heads, "num_attention_heads", "num_attention_heads", file);
  if (m.hidden_size % m.num_attention_heads != 0) {
    fail_at(*r.find("num_attention_heads"), "must divide hidden_size");
  }
  m.num_query_groups = m.num_attention_heads;
  r.integer(m.num_query_groups, "num_query_groups", "num_kv_heads", {1, m.num_attention_heads});
  if (m.num_attention_heads % m.num_query_groups != 0) {
    fail_at(*r.find("num_kv_heads"), "must divide num_attention_heads");
  }
  m.kv_channels = m.hidden_size / m.num_attention_heads;
  r.integer(m.sliding_window, "sliding_window", "sliding_window_width", kModelSizes);
  r.flag(m.qk_layernorm, "qk_layernorm", "use_qk_layernorm");
  m.qk_layernorm_all_heads = m.qk_layernorm;
}

void read_neox_positions(LaunchReading& r) {
  Model& m = r.record().model;
  constexpr std::array kNames{
      EnumName{PositionEmbedding::learned, "learned"}, EnumName{PositionEmbedding::rope, "rotary"},
      EnumName{PositionEmbedding::none, "sinusoidal"}, EnumName{PositionEmbedding::none, "rpe"},
      EnumName{PositionEmbedding::alibi, "alibi"},     EnumName{PositionEmbedding::none, "none"}};
  m.position_embedding = PositionEmbedding::learned;
  r.choice(m.position_embedding, "position_embedding", "pos_emb", kNames);
  if (const Value* value = r.find("pos_emb"); value != nullptr && word_of(*value) == "rpe") {
    r.not_understood(*value, "a relative bias of the attention scores is not modelled");
  }
  m.max_position_embeddings = r.record().job.seq_length;
  r.integer(m.max_position_embeddings, "max_position_embeddings", "max_position_embeddings",
            kModelSizes);
  int offset = 0;
  r.integer(offset, "max_position_embeddings", "opt_pos_emb_offset", {0, 1000});
  if (m.position_embedding == PositionEmbedding::learned) m.max_position_embeddings += offset;
}

// Reads the word for an activation. The MLP of llama is gated for every value.
void read_neox_activation(LaunchReading& r) {
  Model& m = r.record().model;
  struct Known {
    const char* name;
    Activation activation;
    bool exact;
  };
  constexpr std::array kActivations{
      Known{"gelu", Activation::gelu, true},     Known{"geglu", Activation::geglu, true},
      Known{"swiglu", Activation::swiglu, true}, Known{"relu", Activation::relu, true},
      Known{"silu", Activation::gelu, false},    Known{"swish", Activation::gelu, false},
      Known{"mish", Activation::gelu, false},    Known{"softsign", Activation::gelu, false},
      Known{"reglu", Activation::geglu, false},  Known{"bilinear", Activation::geglu, false},
      Known{"glu", Activation::geglu, false}};
  m.activation = Activation::gelu;
  const Value* value = r.find("activation");
  const bool llama = r.word("mlp_type", "regular") == "llama";
  if (llama) {
    m.activation = Activation::swiglu;
    r.note("activation", "swiglu", *r.find("mlp_type"));
  }
  if (llama || value == nullptr) return;
  for (const Known& known : kActivations) {
    if (word_of(*value) != known.name) continue;
    m.activation = known.activation;
    if (known.exact) return r.note("activation", known.name, *value);
    return r.not_understood(*value, fmt::format("it is counted as {}", name_of(known.activation)));
  }
  fail_at(*value, "is no activation of GPT-NeoX");
}

constexpr int rounded_up(int size, int multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Llama's MLP takes the size as it is said. Other gated MLPs of 2024 share two thirds of it between
// gate and up projection, so that each is a third. Before 2024, geglu alone was gated, and had 8/3
// of the hidden size.
void read_neox_mlp_size(LaunchReading& r) {
  Model& m = r.record().model;
  constexpr int kLlamaMultiple = 256;
  int said = 0;
  int multiple = 1;
  double ratio = 4.0;
  const bool has_ratio = r.number(ratio, "ffn_hidden_size", "expansion_factor", {0.1, 64.0});
  r.integer(said, "ffn_hidden_size", "intermediate_size", kModelSizes);
  r.integer(multiple, "ffn_hidden_size", "mlp_multiple_of", kParallelSizes);
  const bool llama = r.word("mlp_type", "regular") == "llama";
  const double of_ratio = std::min(ratio * m.hidden_size, static_cast<double>(kCounts.high));
  const int full = said > 0 ? said : static_cast<int>(of_ratio);
  const auto two_thirds = static_cast<int>(static_cast<std::int64_t>(full) * 2 / 3);
  if (llama) {
    m.ffn_hidden_size = said > 0 ? said : rounded_up(two_thirds, kLlamaMultiple);
  } else if (!is_gated(m.activation)) {
    m.ffn_hidden_size = rounded_up(full, multiple);
  } else if (said > 0 || has_ratio || m.activation == Activation::swiglu) {
    m.ffn_hidden_size = rounded_up(two_thirds / 2, multiple);
    r.assume("ffn_hidden_size", std::to_string(m.ffn_hidden_size),
             "GPT-NeoX of 2024 gives gate and up projection a third of its MLP size each");
  } else {
    m.ffn_hidden_size = two_thirds;
    r.assume("ffn_hidden_size", std::to_string(m.ffn_hidden_size),
             "GPT-NeoX's geglu had 8/3 of the hidden size until 2024");
  }
}

void read_neox_norms_and_biases(LaunchReading& r) {
  Model& m = r.record().model;
  const Value* norm = r.find("norm");
  const std::string name = norm == nullptr ? "layernorm" : word_of(*norm);
  const bool layer_norm = name == "layernorm" || name == "te_layernorm";
  const Value* norm_bias = r.find("use_bias_in_norms");
  const bool biased = norm_bias == nullptr || flag_of(*norm_bias);
  m.normalization = layer_norm && biased ? Normalization::layer_norm : Normalization::rms_norm;
  const bool known = layer_norm || name == "rmsnorm" || name == "te_rmsnorm";
  if (norm != nullptr && !known && name != "non_parametric_layernorm") {
    r.not_understood(*norm, "it is counted as an RMS norm");
  } else if (norm != nullptr && known) {
    r.note("normalization", std::string(name_of(m.normalization)), *norm);
  }
  if (!known || (layer_norm && !biased)) {
    r.assume("normalization", "rms_norm", "it has one weight a column, or none: counted as one");
  }
  bool attention = true;
  bool mlp = true;
  r.flag(attention, "add_bias_linear", "use_bias_in_attn_linear");
  r.flag(mlp, "add_bias_linear", "use_bias_in_mlp");
  mlp = mlp && r.word("mlp_type", "regular") != "llama";
  m.add_bias_linear = attention && mlp;
  m.add_qkv_bias = attention && !mlp;
  if (attention != mlp) {
    r.assume("add_bias_linear", "false",
             "attention and MLP differ: biases of output and MLP linears are left out");
  }
}

void read_neox_residual(LaunchReading& r) {
  Model& m = r.record().model;
  r.flag(m.parallel_attention_mlp, "parallel_attention_mlp", "gpt_j_residual");
  bool tied = false;
  r.flag(tied, "parallel_shared_layer_norm", "gpt_j_tied");
  m.parallel_shared_layer_norm = tied && m.parallel_attention_mlp;
  if (const Value* untied = r.find("no_weight_tying")) {
    m.tied_embeddings = !flag_of(*untied);
    r.note("tied_embeddings", m.tied_embeddings ? "true" : "false", *untied);
  }
}

// Experts have the dense MLP's size. Tokens are dropped where moe_token_dropping says so.
void read_neox_experts(LaunchReading& r) {
  Model& m = r.record().model;
  MixtureOfExperts moe{.moe_router_topk = 1, .moe_layer_interval = 2};
  const bool said = r.integer(moe.num_moe_experts, "num_moe_experts", "moe_num_experts", kCounts);
  if (!said || moe.num_moe_experts == 1) return r.values().pass_over_below("moe_");
  r.integer(moe.moe_router_topk, "moe_router_topk", "moe_top_k", {1, moe.num_moe_experts});
  r.integer(moe.moe_layer_interval, "moe_layer_interval", "expert_interval", {1, 1000});
  moe.moe_ffn_hidden_size = m.ffn_hidden_size;
  if (r.is_on("moe_token_dropping")) {
    moe.moe_expert_capacity_factor = 1.0;
    r.number(moe.moe_expert_capacity_factor, "moe_expert_capacity_factor",
             "moe_train_capacity_factor", {0.01, 1000.0});
  }
  m.moe = moe;
}

// Sizes of the tokenizers' vocabularies before they are padded.
void read_neox_vocabulary(LaunchReading& r, const LaunchHints& hints, const std::string& file) {
  Model& m = r.record().model;
  constexpr int kGpt2 = 50257;
  constexpr int kNeox20b = 50277;
  const Value* type = r.find("tokenizer_type");
  const Value* path = r.find("vocab_file");
  const std::string name = type == nullptr ? "GPT2BPETokenizer" : word_of(*type);
  const bool gpt2 = same_letters(name, "GPT2BPETokenizer") || same_letters(name, "HFGPT2Tokenizer");
  if (hints.vocab_size) {
    m.vocab_size = *hints.vocab_size;
  } else if (path != nullptr && contains(word_of(*path), "20B_tokenizer")) {
    m.vocab_size = kNeox20b;
    r.note("vocab_size", std::to_string(kNeox20b), *path);
  } else if (gpt2) {
    m.vocab_size = kGpt2;
    if (type != nullptr) return r.note("vocab_size", std::to_string(kGpt2), *type);
    r.assume("vocab_size", std::to_string(kGpt2), "GPT-NeoX's tokenizer is GPT-2's unless told");
  } else {
    throw InputError(file, "",
                     fmt::format("does not say how large the vocabulary of its {} is", name),
                     "--vocab-size N, such as 50277 of GPT-NeoX-20B and Pythia");
  }
}

}  // namespace

void read_gpt_neox_model(LaunchReading& reading, const LaunchHints& hints,
                         const std::string& file) {
  Model& m = reading.record().model;
  m.name = "the launched model";
  read_neox_attention_shape(reading, file);
  read_neox_positions(reading);
  read_neox_activation(reading);
  read_neox_mlp_size(reading);
  read_neox_norms_and_biases(reading);
  read_neox_residual(reading);
  read_neox_experts(reading);
  read_neox_vocabulary(reading, hints, file);
  if (!is_countable(m)) throw InputError(file, "", "describes more than 10^18 parameters");
}

namespace {

constexpr std::array kNeoxModel{"num_layers",
                                "hidden_size",
                                "intermediate_size",
                                "expansion_factor",
                                "mlp_multiple_of",
                                "mlp_type",
                                "activation",
                                "num_attention_heads",
                                "num_kv_heads",
                                "sliding_window_width",
                                "use_qk_layernorm",
                                "max_position_embeddings",
                                "opt_pos_emb_offset",
                                "pos_emb",
                                "no_weight_tying",
                                "gpt_j_residual",
                                "gpt_j_tied",
                                "norm",
                                "use_bias_in_norms",
                                "use_bias_in_attn_linear",
                                "use_bias_in_mlp",
                                "moe_num_experts",
                                "moe_top_k",
                                "moe_token_dropping",
                                "moe_train_capacity_factor",
                                "expert_interval"};

}  // namespace

void pass_over_neox_model(Values& values) {
  for (const char* key : kNeoxModel) values.pass_over(key);
}

}  // namespace meshwright::interop
