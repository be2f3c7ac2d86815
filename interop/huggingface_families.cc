// SPDX-License-Identifier: Apache-2.0
#include "interop/huggingface_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace meshwright::interop {
namespace {

struct ModelTypeReader {
  std::string_view model_type;
  HuggingFaceFamilyReader read;
  std::string_view not_modelled{};
};

constexpr std::string_view kIndexer = "the indexer's own loss and its gradients are not counted";
constexpr std::string_view kHashRouting =
    "the indexer's own loss and its gradients are not counted; the tables by which the first "
    "layers route tokens are left out";
constexpr std::string_view kNoPositions = "layers without rotary positions are predicted with them";

constexpr std::array kFamilies{
    ModelTypeReader{"llama", huggingface::read_llama},
    ModelTypeReader{"mistral", huggingface::read_mistral},
    ModelTypeReader{"ministral", huggingface::read_ministral},
    ModelTypeReader{"ministral3", huggingface::read_ministral},
    ModelTypeReader{"qwen2", huggingface::read_qwen2},
    ModelTypeReader{"qwen2_vl", huggingface::read_qwen2},
    ModelTypeReader{"qwen2_vl_text", huggingface::read_qwen2},
    ModelTypeReader{"qwen2_5_vl", huggingface::read_qwen2},
    ModelTypeReader{"qwen2_5_vl_text", huggingface::read_qwen2},
    ModelTypeReader{"qwen3", huggingface::read_qwen3},
    ModelTypeReader{"qwen3_vl_text", huggingface::read_qwen3},
    ModelTypeReader{"qwen3_5_text", huggingface::read_qwen3_5},
    ModelTypeReader{"qwen3_5_moe_text", huggingface::read_qwen3_next},
    ModelTypeReader{"qwen3_next", huggingface::read_qwen3_next},
    ModelTypeReader{"phi3", huggingface::read_phi3},
    ModelTypeReader{"gemma", huggingface::read_gemma},
    ModelTypeReader{"gemma2", huggingface::read_gemma2},
    ModelTypeReader{"gemma3_text", huggingface::read_gemma3},
    ModelTypeReader{"olmo2", huggingface::read_olmo2},
    ModelTypeReader{"olmo3", huggingface::read_olmo3},
    ModelTypeReader{"olmo_hybrid", huggingface::read_olmo_hybrid},
    ModelTypeReader{
        "apertus", huggingface::read_apertus,
        "the time of xIELU's few products more than a GELU's is not counted: its bytes are"},
    ModelTypeReader{"arcee", huggingface::read_arcee},
    ModelTypeReader{"ernie4_5", huggingface::read_ernie4_5},
    ModelTypeReader{"exaone4", huggingface::read_exaone4, kNoPositions},
    ModelTypeReader{"glm", huggingface::read_glm},
    ModelTypeReader{"glm4", huggingface::read_glm4},
    ModelTypeReader{"granite", huggingface::read_llama},
    ModelTypeReader{"hunyuan_v1_dense", huggingface::read_hunyuan},
    ModelTypeReader{"internlm2", huggingface::read_internlm2},
    ModelTypeReader{"internlm3", huggingface::read_internlm3},
    ModelTypeReader{"mimo", huggingface::read_mimo},
    ModelTypeReader{"minicpm", huggingface::read_minicpm},
    ModelTypeReader{"seed_oss", huggingface::read_seed_oss},
    ModelTypeReader{"smollm3", huggingface::read_smollm3, kNoPositions},
    ModelTypeReader{"stablelm", huggingface::read_stablelm},
    ModelTypeReader{"mixtral", huggingface::read_mixtral},
    ModelTypeReader{"granitemoe", huggingface::read_mixtral},
    ModelTypeReader{"qwen2_moe", huggingface::read_qwen2_moe},
    ModelTypeReader{"qwen3_moe", huggingface::read_qwen3_moe},
    ModelTypeReader{"qwen3_vl_moe_text", huggingface::read_qwen3_moe},
    ModelTypeReader{"bailing_moe", huggingface::read_bailing_moe},
    ModelTypeReader{"bailing_moe_v2", huggingface::read_bailing_moe},
    ModelTypeReader{"deepseek", huggingface::read_deepseek},
    ModelTypeReader{"dots1", huggingface::read_dots1},
    ModelTypeReader{"ernie4_5_moe", huggingface::read_ernie4_5_moe},
    ModelTypeReader{"hunyuan_v1_moe", huggingface::read_hunyuan_moe},
    ModelTypeReader{"minimax_m2", huggingface::read_minimax_m2},
    ModelTypeReader{"olmoe", huggingface::read_olmoe},
    ModelTypeReader{"deepseek_v2", huggingface::read_deepseek_v2},
    ModelTypeReader{"mistral4", huggingface::read_deepseek_v2},
    ModelTypeReader{"deepseek_v3", huggingface::read_deepseek_v3},
    ModelTypeReader{"deepseek_v32", huggingface::read_deepseek_v32, kIndexer},
    ModelTypeReader{"deepseek_v4", huggingface::read_deepseek_v4, kHashRouting},
    ModelTypeReader{"deepseek_ref", huggingface::read_deepseek_v4, kHashRouting},
    ModelTypeReader{"minimax_m3", huggingface::read_minimax_m3, kIndexer},
    ModelTypeReader{"minimax_m3_vl", huggingface::read_minimax_m3, kIndexer},
    ModelTypeReader{"minimax_m3_vl_text", huggingface::read_minimax_m3, kIndexer},
    ModelTypeReader{"kimi_k2", huggingface::read_deepseek_v3},
    ModelTypeReader{"glm4_moe", huggingface::read_glm4_moe},
    ModelTypeReader{"glm4_moe_lite", huggingface::read_glm4_moe_lite},
    ModelTypeReader{"glm_moe_dsa", huggingface::read_deepseek_v32, kIndexer},
    ModelTypeReader{"gpt_oss", huggingface::read_gpt_oss},
    ModelTypeReader{"llama4_text", huggingface::read_llama4},
    ModelTypeReader{"granitemoehybrid", huggingface::read_granite_hybrid},
    ModelTypeReader{"bamba", huggingface::read_bamba},
    ModelTypeReader{"nemotron_h", huggingface::read_nemotron_h,
                    "layers of multi-token prediction are left out"},
    ModelTypeReader{"falcon_h1", huggingface::read_falcon_h1},
    ModelTypeReader{"mamba", huggingface::read_mamba},
    ModelTypeReader{"falcon_mamba", huggingface::read_mamba},
    ModelTypeReader{"jamba", huggingface::read_jamba},
    ModelTypeReader{"mamba2", huggingface::read_mamba2},
    ModelTypeReader{"kimi_linear", huggingface::read_kimi_linear},
    ModelTypeReader{"lfm2", huggingface::read_lfm2},
    ModelTypeReader{"lfm2_moe", huggingface::read_lfm2_moe},
    ModelTypeReader{"minimax", huggingface::read_minimax},
    ModelTypeReader{"minimax_text_01", huggingface::read_minimax},
    ModelTypeReader{"gpt2", huggingface::read_gpt2},
    ModelTypeReader{"gpt_neox", huggingface::read_gpt_neox},
    ModelTypeReader{"opt", huggingface::read_opt},
    ModelTypeReader{"bloom", huggingface::read_bloom},
    ModelTypeReader{"falcon", huggingface::read_falcon},
    ModelTypeReader{"starcoder2", huggingface::read_starcoder2},
    ModelTypeReader{"nemotron", huggingface::read_nemotron},
    ModelTypeReader{"mpt", huggingface::read_mpt},
    ModelTypeReader{"cohere", huggingface::read_cohere},
    ModelTypeReader{"cohere2", huggingface::read_cohere2, kNoPositions},
};

// Keeps four times a size, and its product with any number of shared experts, inside an int.
constexpr IntRange kSize{1, 100'000'000};

constexpr std::string_view kFull = "full_attention";
constexpr std::string_view kSliding = "sliding_attention";
constexpr std::string_view kLinear = "linear_attention";

std::vector<std::string> layer_types(ObjectReader& config, int num_layers) {
  const Json& given = config.required_array("layer_types");
  if (given.size() != static_cast<std::size_t>(num_layers)) {
    config.fail("layer_types", fmt::format("must have {} entries, one a layer (got {})", num_layers,
                                           given.size()));
  }
  std::vector<std::string> types;
  for (const Json& type : given) {
    types.push_back(type.is_string() ? type.get<std::string>() : type.dump());
  }
  return types;
}

std::string_view present(ObjectReader& config, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (config.has(name)) return name;
  }
  return *names.begin();
}

}  // namespace

HuggingFaceFamilyReader huggingface_family(std::string_view model_type) {
  for (const ModelTypeReader& reader : kFamilies) {
    if (reader.model_type == model_type) return reader.read;
  }
  return huggingface::is_hybrid(model_type) ? huggingface::read_hybrid : nullptr;
}

std::string_view huggingface_not_modelled(std::string_view model_type) {
  for (const ModelTypeReader& reader : kFamilies) {
    if (reader.model_type == model_type) return reader.not_modelled;
  }
  return "";
}

std::vector<std::string> huggingface_model_types() {
  std::vector<std::string> types;
  for (const ModelTypeReader& reader : kFamilies) types.emplace_back(reader.model_type);
  return types;
}

namespace huggingface {

int required_size(ObjectReader& config, std::initializer_list<std::string_view> names) {
  return config.required_int(present(config, names), kSize);
}

int optional_size(ObjectReader& config, std::initializer_list<std::string_view> names,
                  int default_value) {
  return config.optional_int(present(config, names), default_value, kSize);
}

void read_shape(ObjectReader& config, Model& model) {
  model.hidden_size = required_size(config, {"hidden_size", "n_embd", "n_embed", "d_model"});
  const std::string_view layers_key = present(config, {"num_hidden_layers", "n_layer", "n_layers"});
  constexpr IntRange kLayers{1, 100'000};
  const int layers = model.num_layers;
  model.num_layers = layers > 0 ? config.optional_int(layers_key, layers, kLayers)
                                : config.required_int(layers_key, kLayers);
  const int heads = model.num_attention_heads;
  const std::initializer_list<std::string_view> heads_keys = {"num_attention_heads", "n_head",
                                                              "n_heads"};
  model.num_attention_heads =
      heads > 0 ? optional_size(config, heads_keys, heads) : required_size(config, heads_keys);
  const int rows = model.vocab_size;
  model.vocab_size =
      rows > 0 ? config.optional_int("vocab_size", rows) : config.required_int("vocab_size");
}

void read_even_heads(ObjectReader& config, Model& model) {
  const int heads = model.num_attention_heads;
  if (model.hidden_size % heads != 0) {
    config.fail(present(config, {"num_attention_heads", "n_head"}),
                fmt::format("must divide the hidden size {} (got {})", model.hidden_size, heads));
  }
  model.num_query_groups = heads;
  model.kv_channels = model.hidden_size / heads;
}

void read_grouped_heads(ObjectReader& config, Model& model) {
  const int heads = model.num_attention_heads;
  // Latent attention says the widths of its heads by itself.
  const bool stated = config.has("head_dim") || config.has("kv_lora_rank") || model.kv_channels > 0;
  if (!stated) read_even_heads(config, model);
  model.num_query_groups = config.optional_int("num_key_value_heads", heads, {1, heads});
  if (heads % model.num_query_groups != 0) {
    config.fail("num_key_value_heads", fmt::format("must divide num_attention_heads {} (got {})",
                                                   heads, model.num_query_groups));
  }
  model.kv_channels = config.optional_int("head_dim", model.kv_channels);
}

Activation read_activation(ObjectReader& config, std::initializer_list<std::string_view> names,
                           std::string_view default_value, bool gated) {
  const std::string_view key = present(config, names);
  const std::string word = config.optional_string(key, std::string(default_value));
  const bool gelu = word.starts_with("gelu");
  if (gated && (word == "silu" || word == "swish" || word == "swigluoai"))
    return Activation::swiglu;
  if (gated && gelu) return Activation::geglu;
  if (!gated && gelu) return Activation::gelu;
  // A squared ReLU is the same bytes and one product more.
  if (!gated && (word == "relu" || word == "relu2")) return Activation::relu;
  if (!gated && word == "xielu") return Activation::xielu;
  config.fail(key, fmt::format("must be {} (got \"{}\")",
                               gated ? "silu or one of the gelu family"
                                     : "relu, relu2, xielu or one of the gelu family",
                               word));
}

int read_sliding_window(ObjectReader& config, int default_value) {
  if (!config.has("sliding_window")) return config.is_null("sliding_window") ? 0 : default_value;
  return config.required_int("sliding_window");
}

void read_delta_nets(ObjectReader& config, Model& model, DeltaNet net) {
  const auto read = [&](int& size, const char* key) {
    size = config.optional_int(key, size, {1, 100'000});
  };
  read(net.linear_num_key_heads, "linear_num_key_heads");
  read(net.linear_num_value_heads, "linear_num_value_heads");
  read(net.linear_key_head_dim, "linear_key_head_dim");
  read(net.linear_value_head_dim, "linear_value_head_dim");
  read(net.linear_conv_kernel_dim, "linear_conv_kernel_dim");
  if (net.linear_num_value_heads % net.linear_num_key_heads != 0) {
    config.fail("linear_num_value_heads",
                fmt::format("must be a multiple of linear_num_key_heads {} (got {})",
                            net.linear_num_key_heads, net.linear_num_value_heads));
  }
  net.linear_attention_freq = config.optional_int("full_attention_interval", 4, {2, 100'000});
  model.linear_attention = net;
  if (!config.has("layer_types")) return;
  const std::vector<std::string> types = layer_types(config, model.num_layers);
  const auto full = std::find(types.begin(), types.end(), kFull);
  const auto before = static_cast<int>(full - types.begin());
  model.linear_attention->linear_attention_freq = before + 1;
  for (int i = 0; i < model.num_layers; ++i) {
    const std::string& type = types[static_cast<std::size_t>(i)];
    if (before > 0 && type == (layer_kind(model, i).linear_attention ? kLinear : kFull)) continue;
    config.fail("layer_types",
                fmt::format("must repeat n - 1 times \"{}\" and then \"{}\"; entry {} is \"{}\"",
                            kLinear, kFull, i, type));
  }
}

void read_layer_types(ObjectReader& config, Model& model) {
  if (!config.has("layer_types")) return;
  const std::vector<std::string> types = layer_types(config, model.num_layers);
  const auto full = std::find(types.begin(), types.end(), kFull);
  const auto windowed_before = static_cast<int>(full - types.begin());
  const bool one_kind = full == types.begin() || full == types.end();
  if (full == types.begin()) model.sliding_window = 0;
  model.sliding_window_interval = one_kind ? 1 : windowed_before + 1;
  for (int i = 0; i < model.num_layers; ++i) {
    const std::string& type = types[static_cast<std::size_t>(i)];
    if (type == (layer_kind(model, i).sliding_window ? kSliding : kFull)) continue;
    config.fail("layer_types",
                fmt::format("entry {} is {}; only a regular pattern is known: of every n layers, "
                            "n-1 {} and then one {}",
                            i, type, kSliding, kFull));
  }
}

void refuse_unless(ObjectReader& config, std::string_view key, bool expected, bool default_value,
                   std::string_view why) {
  const bool given = config.optional_bool(key, default_value);
  if (given == expected) return;
  config.fail(key, fmt::format("is {}: {}", given, why));
}

}  // namespace huggingface
}  // namespace meshwright::interop
