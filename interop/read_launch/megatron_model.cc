// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "interop/read_launch/layer_pattern.h"
#include "interop/read_launch/megatron_fields.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/block/parameters.h"

namespace meshwright::interop {
namespace {

void require_megatron(LaunchReading& r, int& target, const char* field, const char* key,
                      const std::string& file, IntRange range = kModelSizes) {
  if (r.integer(target, field, key, range)) return;
  std::string flag = "--" + std::string(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  throw InputError(file, "", flag + " is missing",
                   "Megatron-LM needs it; or name the model with --model");
}

Activation activation_of(LaunchReading& r) {
  if (r.is_on("swiglu")) return Activation::swiglu;
  if (r.is_on("quick_geglu")) return Activation::geglu;
  if (r.is_on("squared_relu")) {
    r.assume("activation", "relu", "a squared ReLU costs about what a ReLU does");
    return Activation::relu;
  }
  return Activation::gelu;
}

// Megatron-LM: two thirds of 4 h where the activation is gated, in whole 64s.
int usual_ffn_size(const Model& m) {
  const std::int64_t four = 4LL * m.hidden_size;
  return static_cast<int>(m.activation == Activation::swiglu ? four * 2 / 3 / 64 * 64 : four);
}

// FlagScale: two thirds of 4 h, times a factor, up to a whole multiple.
void read_multiple_of(LaunchReading& r, Model& m) {
  int multiple = 0;
  double factor = 1.0;
  r.number(factor, "hidden_dim_multiplier", "hidden_dim_multiplier", {0.01, 100.0});
  if (!r.integer(multiple, "multiple_of", "multiple_of", {1, 1'000'000})) return;
  const auto width =
      static_cast<std::int64_t>(factor * static_cast<double>(4LL * m.hidden_size * 2 / 3));
  m.ffn_hidden_size = static_cast<int>((width + multiple - 1) / multiple * multiple);
}

void read_positions(LaunchReading& r, Model& m) {
  const Value* value = r.find("position_embedding_type");
  std::string type = value != nullptr ? word_of(*value) : "learned_absolute";
  if (value != nullptr) r.note("position_embedding", type, *value);
  if (r.is_on("use_rotary_position_embeddings")) type = "rope";
  if (type == "learned_absolute") {
    m.position_embedding = PositionEmbedding::learned;
  } else if (type == "rope" || type == "yarn" || type == "mrope" || type == "rotary") {
    m.position_embedding = PositionEmbedding::rope;
  } else if (type == "alibi") {
    m.position_embedding = PositionEmbedding::alibi;
  } else if (type == "none") {
    m.position_embedding = PositionEmbedding::none;
  } else {
    fail_at(*value, "is not modelled", "known are learned_absolute, rope, yarn, alibi, none");
  }
  r.integer(m.max_position_embeddings, "max_position_embeddings", "max_position_embeddings",
            kModelSizes);
}

// The words of a pair, in any of its spellings: "127,0", "(127, 0)", 127 0.
std::string first_of_pair(const Value& pair) {
  std::string text;
  for (const std::string& word : pair.words) append_to_list(text, ",", word);
  for (const char* mark : {"(", ")", "[", "]", " "}) text = replaced(text, mark, "");
  return split(text, ',').front();
}

// A list in which 1 is a layer with the window: one of n has none, the n-th.
int interval_of_list(const std::string& text, int num_layers) {
  const auto pattern = layer_pattern(text);
  if (!pattern || pattern->size() != static_cast<std::size_t>(num_layers)) return 0;
  const auto full = std::find(pattern->begin(), pattern->end(), 0);
  if (full == pattern->end()) return 1;
  const auto interval = static_cast<std::size_t>(full - pattern->begin()) + 1;
  for (std::size_t i = 0; i < pattern->size(); ++i) {
    const bool windowed = (i + 1) % interval != 0;
    if (windowed != ((*pattern)[i] == 1)) return 0;
  }
  return static_cast<int>(interval);
}

// The window counts the tokens before a token, and the token itself. One of n layers attends to all
// tokens.
void read_window(LaunchReading& r, Model& m) {
  const Value* window = r.find("window_size");
  const Value* skip = r.find("window_attn_skip_freq");
  if (window == nullptr) return;
  Value before = *window;
  before.words = {first_of_pair(*window)};
  m.sliding_window = integer_of(before, {-1, kModelSizes.high}) + 1;
  r.note("sliding_window", std::to_string(m.sliding_window), *window);
  if (skip == nullptr || m.sliding_window == 0) return;
  std::string text;
  for (const std::string& word : skip->words) append_to_list(text, ",", word);
  if (skip->words.size() > 1) text = "[" + text + "]";
  if (!contains(text, "[")) {
    r.integer(m.sliding_window_interval, "sliding_window_interval", "window_attn_skip_freq",
              {1, kModelSizes.high});
    return;
  }
  const int interval = interval_of_list(text, m.num_layers);
  if (interval == 0) {
    fail_at(*skip,
            fmt::format("is no regular list of {} layers with the window (1) and without (0)",
                        m.num_layers),
            "such as [1,1,0]*8, or a number: one layer of so many has none");
  }
  m.sliding_window_interval = interval;
  r.note("sliding_window_interval", std::to_string(interval), *skip);
}

void read_attention(LaunchReading& r, Model& m) {
  m.num_query_groups = m.num_attention_heads;
  if (r.is_on("group_query_attention")) {
    m.num_query_groups = 1;
    r.integer(m.num_query_groups, "num_query_groups", "num_query_groups",
              {1, m.num_attention_heads});
  } else {
    r.values().pass_over("num_query_groups");
  }
  r.integer(m.num_query_groups, "num_query_groups", "num_key_value_heads",
            {1, m.num_attention_heads});  // Megatron-DeepSpeed's name
  m.kv_channels = m.hidden_size / m.num_attention_heads;
  r.integer(m.kv_channels, "kv_channels", "kv_channels", kModelSizes);
  r.flag(m.qk_layernorm, "qk_layernorm", "qk_layernorm");
  read_window(r, m);
  if (!r.is_on("multi_latent_attention")) return;
  LatentAttention mla{.q_lora_rank = 0,
                      .kv_lora_rank = 32,
                      .qk_head_dim = 128,
                      .qk_pos_emb_head_dim = 64,
                      .v_head_dim = 128};
  r.integer(mla.q_lora_rank, "q_lora_rank", "q_lora_rank", kModelSizes);
  r.integer(mla.kv_lora_rank, "kv_lora_rank", "kv_lora_rank", kModelSizes);
  r.integer(mla.qk_head_dim, "qk_head_dim", "qk_head_dim", kModelSizes);
  r.integer(mla.qk_pos_emb_head_dim, "qk_pos_emb_head_dim", "qk_pos_emb_head_dim", kModelSizes);
  r.integer(mla.v_head_dim, "v_head_dim", "v_head_dim", kModelSizes);
  m.mla = mla;
  m.num_query_groups = m.num_attention_heads;
  m.kv_channels = mla.qk_head_dim + mla.qk_pos_emb_head_dim;
}

// The first layer with experts, and how many layers on the next one is.
void read_expert_layers(LaunchReading& r, const Model& m, MixtureOfExperts& moe) {
  const Value* value = r.find("moe_layer_freq");
  if (value == nullptr) return;
  const std::string text = word_of(*value);
  r.note("moe_layer_freq", text, *value);
  if (text.find('[') == std::string::npos) {
    moe.moe_layer_interval = integer_of(*value, {1, 100'000});
    return;
  }
  const auto pattern = layer_pattern(text);
  if (!pattern || pattern->size() != static_cast<std::size_t>(m.num_layers)) {
    fail_at(*value, fmt::format("must be a list of 0 and 1 for {} layers", m.num_layers),
            "such as [0]*3+[1]*58");
  }
  const auto first = std::find(pattern->begin(), pattern->end(), 1);
  const auto second = first == pattern->end() ? first : std::find(first + 1, pattern->end(), 1);
  moe.num_first_dense_layers = static_cast<int>(first - pattern->begin());
  if (second != pattern->end()) moe.moe_layer_interval = static_cast<int>(second - first);
  Model with = m;
  with.moe = moe;
  for (int i = 0; i < m.num_layers; ++i) {
    const bool expert = layer_kind(with, i).mixture_of_experts;
    if (expert == ((*pattern)[static_cast<std::size_t>(i)] == 1)) continue;
    fail_at(*value, "is no regular pattern: dense layers, then every n-th layer with experts");
  }
}

void read_expert_model(LaunchReading& r, Model& m) {
  MixtureOfExperts moe;
  if (!r.integer(moe.num_moe_experts, "num_moe_experts", "num_experts", {0, 100'000})) return;
  // Megatron-DeepSpeed's dense models have one.
  if (moe.num_moe_experts <= 1) return;
  moe.moe_router_topk = 2;
  moe.moe_ffn_hidden_size = m.ffn_hidden_size;
  r.integer(moe.moe_router_topk, "moe_router_topk", "moe_router_topk", {1, moe.num_moe_experts});
  r.integer(moe.moe_ffn_hidden_size, "moe_ffn_hidden_size", "moe_ffn_hidden_size", kModelSizes);
  r.integer(moe.moe_shared_expert_intermediate_size, "moe_shared_expert_intermediate_size",
            "moe_shared_expert_intermediate_size", {0, kModelSizes.high});
  r.integer(moe.moe_router_num_groups, "moe_router_num_groups", "moe_router_num_groups",
            kModelSizes);
  if (moe.moe_router_num_groups > 0) {
    r.integer(moe.moe_router_group_topk, "moe_router_group_topk", "moe_router_group_topk",
              {1, moe.moe_router_num_groups});
  }
  r.integer(moe.moe_latent_size, "moe_latent_size", "moe_latent_size", kModelSizes);
  r.number(moe.moe_expert_capacity_factor, "moe_expert_capacity_factor",
           "moe_expert_capacity_factor", {-1.0, 1e6});
  moe.moe_expert_capacity_factor = std::max(0.0, moe.moe_expert_capacity_factor);
  r.flag(moe.moe_shared_expert_gate, "moe_shared_expert_gate", "moe_shared_expert_gate");
  r.flag(moe.moe_router_bias, "moe_router_bias", "moe_router_enable_expert_bias");
  moe.moe_expert_bias = m.add_bias_linear;  // router.py, experts.py
  moe.moe_router_bias = moe.moe_router_bias || m.add_bias_linear;
  read_expert_layers(r, m, moe);
  m.moe = moe;
}

// Of n layers one is softmax attention, or a list in which 1 is a delta net
// (transformer_config.py, linear_attention_freq).
int layers_of_a_turn(LaunchReading& r, const Model& m, const std::string& file) {
  const Value* value = r.find("linear_attention_freq");
  if (value == nullptr) {
    throw InputError(file, "", "needs --linear-attention-freq beside gated_delta_net");
  }
  const std::string text = word_of(*value);
  const auto pattern = layer_pattern(text);
  if (!pattern) return integer_of(*value, {2, 100'000});
  const auto full = std::find(pattern->begin(), pattern->end(), 0);
  const auto turn = static_cast<int>(full - pattern->begin()) + 1;
  bool regular = turn > 1 && pattern->size() == static_cast<std::size_t>(m.num_layers);
  for (std::size_t i = 0; regular && i < pattern->size(); ++i) {
    regular = ((*pattern)[i] == 0) == ((static_cast<int>(i) + 1) % turn == 0);
  }
  if (!regular) fail_at(*value, "is no regular pattern: n - 1 delta nets, then full attention");
  return turn;
}

void read_linear_attention(LaunchReading& r, Model& m, const std::string& file) {
  r.flag(m.attention_output_gate, "attention_output_gate", "attention_output_gate");
  const Value* variant = r.find("linear_attention_type");
  if (variant == nullptr) variant = r.find("experimental_attention_variant");
  if (variant == nullptr || word_of(*variant) != "gated_delta_net") return;
  r.note("linear_attention", "gated_delta_net", *variant);
  DeltaNet net;
  net.linear_attention_freq = layers_of_a_turn(r, m, file);
  net.linear_num_key_heads = 16;
  net.linear_num_value_heads = 32;
  net.linear_key_head_dim = net.linear_value_head_dim = 128;
  r.integer(net.linear_num_key_heads, "linear_num_key_heads", "linear_num_key_heads", kModelSizes);
  r.integer(net.linear_num_value_heads, "linear_num_value_heads", "linear_num_value_heads",
            kModelSizes);
  r.integer(net.linear_key_head_dim, "linear_key_head_dim", "linear_key_head_dim", {1, 100'000});
  r.integer(net.linear_value_head_dim, "linear_value_head_dim", "linear_value_head_dim",
            {1, 100'000});
  r.integer(net.linear_conv_kernel_dim, "linear_conv_kernel_dim", "linear_conv_kernel_dim",
            {1, 1'000});
  if (net.linear_num_value_heads % net.linear_num_key_heads != 0) {
    fail_at(*variant,
            fmt::format("has {} value heads, which must be a multiple of the {} key heads",
                        net.linear_num_value_heads, net.linear_num_key_heads));
  }
  m.linear_attention = net;
}

int vocabulary_of_tokenizer(LaunchReading& r) {
  const std::string type = r.word("tokenizer_type", "GPT2BPETokenizer");
  if (type == "GPT2BPETokenizer") return 50257;
  if (type == "Llama2Tokenizer") return 32000;
  return 0;
}

// Pai-Megatron-Patch (megatron_patch/tokenizer): the tokenizer's own words and so many more, which
// are not padded.
int vocabulary_of_patch(LaunchReading& r) {
  struct OwnWords {
    std::string_view tokenizer;
    int count;
  };
  constexpr OwnWords kOwnWords[] = {{"LLamaTokenizer", 32000},   {"LLama2Tokenizer", 32000},
                                    {"MistralTokenizer", 32000}, {"MixtralTokenizer", 32000},
                                    {"LLama3Tokenizer", 128000}, {"Qwen2Tokenizer", 151643},
                                    {"Qwen3Tokenizer", 151643},  {"DeepSeekV2Tokenizer", 100000}};
  int more = 0;
  r.integer(more, "extra_vocab_size", "extra_vocab_size", {0, kModelSizes.high});
  const std::string type = r.word("patch_tokenizer_type", "");
  for (const OwnWords& own : kOwnWords) {
    if (own.tokenizer == type) return own.count + more;
  }
  return 0;
}

void read_vocabulary(LaunchReading& r, Model& m, const LaunchHints& hints,
                     const std::string& file) {
  r.values().pass_over("tokenizer_type");
  const bool patched = r.values().has("patch_tokenizer_type") || r.values().has("extra_vocab_size");
  const int of_patch = patched ? vocabulary_of_patch(r) : 0;
  if (r.integer(m.vocab_size, "vocab_size", "vocab_size", kModelSizes)) return;
  if (r.integer(m.vocab_size, "vocab_size", "pad_vocab_size_to", kModelSizes)) return;
  if (r.integer(m.vocab_size, "vocab_size", "padded_vocab_size", kModelSizes)) return;
  if (hints.vocab_size) {
    m.vocab_size = *hints.vocab_size;
    r.assume("vocab_size", std::to_string(m.vocab_size), "named beside the launch, or in the log");
    return;
  }
  m.vocab_size = patched ? of_patch : vocabulary_of_tokenizer(r);
  if (m.vocab_size == 0) {
    throw InputError(file, "",
                     "the vocabulary's size is in the tokenizer's files, which are not read",
                     "state it with --vocab-size N");
  }
  r.assume("vocab_size", std::to_string(m.vocab_size),
           "what this tokenizer has where nobody adds to it");
}

}  // namespace

void read_megatron_model(LaunchReading& r, const LaunchHints& hints, const std::string& file) {
  Model& m = r.record().model;
  m.name = "the launched model";
  require_megatron(r, m.num_layers, "num_layers", "num_layers", file, {1, 100'000});
  require_megatron(r, m.hidden_size, "hidden_size", "hidden_size", file);
  require_megatron(r, m.num_attention_heads, "num_attention_heads", "num_attention_heads", file);
  m.activation = activation_of(r);
  m.ffn_hidden_size = usual_ffn_size(m);
  read_multiple_of(r, m);
  r.integer(m.ffn_hidden_size, "ffn_hidden_size", "ffn_hidden_size", kModelSizes);
  read_attention(r, m);
  read_positions(r, m);
  const Value* norm = r.find("normalization");
  const bool rms = norm != nullptr && same_letters(word_of(*norm), "RMSNorm");
  if (norm != nullptr) r.note("normalization", word_of(*norm), *norm);
  m.normalization = rms ? Normalization::rms_norm : Normalization::layer_norm;
  r.flag(m.add_bias_linear, "add_bias_linear", "add_bias_linear");
  r.flag(m.add_qkv_bias, "add_qkv_bias", "add_qkv_bias");
  if (m.add_bias_linear) m.add_qkv_bias = false;
  m.tied_embeddings = true;
  if (const Value* untie = r.find("untie_embeddings_and_output_weights"); untie != nullptr) {
    m.tied_embeddings = !flag_of(*untie);
    r.note("tied_embeddings", m.tied_embeddings ? "true" : "false", *untie);
  }
  r.flag(m.embedding_layer_norm, "embedding_layer_norm", "embed_layernorm");
  if (const Value* softmax = r.find("softmax_type"); softmax != nullptr) {
    m.attention_sinks = word_of(*softmax) == "learnable";
    r.note("attention_sinks", m.attention_sinks ? "true" : "false", *softmax);
  }
  r.values().pass_over("glu_linear_offset");  // an addition inside a fused kernel
  r.number(m.activation_func_clamp_value, "activation_func_clamp_value",
           "activation_func_clamp_value", {0.0, 1e6});
  read_linear_attention(r, m, file);
  read_expert_model(r, m);
  r.integer(m.mtp_num_layers, "mtp_num_layers", "mtp_num_layers", {0, 1000});
  read_vocabulary(r, m, hints, file);
  if (!is_countable(m)) throw InputError(file, "", "describes more than 10^18 parameters");
}

}  // namespace meshwright::interop
