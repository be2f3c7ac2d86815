// SPDX-License-Identifier: Apache-2.0
// Families with layers that are not modelled: refused, with those layers counted. A transformer of
// the same parameters would be predicted otherwise, so that nothing is guessed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "interop/huggingface_families.h"

namespace meshwright::interop::huggingface {
namespace {

constexpr const char* kNothingGuessed =
    "a transformer of the same parameters would be predicted otherwise: nothing is guessed";

// Layers of a kind, by the keys of one family; the config is that of the language model.
using CountLayers = std::int64_t (*)(ObjectReader& config, std::int64_t layers);

struct HybridFamily {
  std::string_view model_type;
  std::string_view word;    // of layer_types, layers_block_type or block_types
  std::string_view what;    // the layers that are not modelled, plural
  CountLayers count;        // where no such list is given
  std::string_view others;  // kind of the other layers; empty: there are none
};

std::int64_t all(ObjectReader& /*config*/, std::int64_t layers) { return layers; }

std::int64_t kimi_delta_layers(ObjectReader& config, std::int64_t /*layers*/) {
  ObjectReader linear = config.required_object("linear_attn_config");
  return static_cast<std::int64_t>(linear.required_array("kda_layers").size());
}

// attn_type_list: 0 lightning attention, 1 softmax attention.
std::int64_t lightning_layers(ObjectReader& config, std::int64_t layers) {
  if (!config.has("attn_type_list")) return layers - layers / 8;
  const Json& kinds = config.required_array("attn_type_list");
  return std::count(kinds.begin(), kinds.end(), 0);
}

std::int64_t jamba_layers(ObjectReader& config, std::int64_t layers) {
  const int period = config.optional_int("attn_layer_period", 8, {1, 100'000});
  const int offset = config.optional_int("attn_layer_offset", 4, {0, 100'000});
  return layers - (layers - offset + period - 1) / period;
}

std::int64_t but_listed(ObjectReader& config, std::int64_t layers, std::string_view key) {
  if (!config.has(key)) return layers;
  return layers - static_cast<std::int64_t>(config.required_array(key).size());
}

std::int64_t but_attn_layer_indices(ObjectReader& config, std::int64_t layers) {
  return but_listed(config, layers, "attn_layer_indices");
}

std::int64_t but_full_attn_idxs(ObjectReader& config, std::int64_t layers) {
  return but_listed(config, layers, "full_attn_idxs");
}

// hybrid_layer_pattern: 1 attends in a window, with heads of its own.
std::int64_t window_layers(ObjectReader& config, std::int64_t layers) {
  if (!config.has("hybrid_layer_pattern")) return layers;
  const Json& kinds = config.required_array("hybrid_layer_pattern");
  return std::count(kinds.begin(), kinds.end(), 1);
}

constexpr std::string_view kMamba = "Mamba-2 layers (state spaces)";
constexpr std::string_view kAttention = "attention";

constexpr std::array kHybrids{
    HybridFamily{"kimi_linear", "linear_attention", "Kimi delta attention (linear attention)",
                 kimi_delta_layers, "latent attention"},
    HybridFamily{"minimax", "linear_attention", "lightning attention (linear attention)",
                 lightning_layers, kAttention},
    HybridFamily{"minimax_text_01", "linear_attention", "lightning attention (linear attention)",
                 lightning_layers, kAttention},
    HybridFamily{"lfm2", "conv", "short convolutions", but_full_attn_idxs, kAttention},
    HybridFamily{"lfm2_moe", "conv", "short convolutions", but_full_attn_idxs, kAttention},
    HybridFamily{"granitemoehybrid", "mamba", kMamba, all, kAttention},
    HybridFamily{"bamba", "mamba", kMamba, but_attn_layer_indices, kAttention},
    HybridFamily{"jamba", "mamba", "Mamba layers (state spaces)", jamba_layers, kAttention},
    HybridFamily{"zamba2", "mamba", kMamba, all, "Mamba-2 with shared attention"},
    HybridFamily{"falcon_h1", "", "attention beside Mamba-2 heads", all, ""},
    HybridFamily{"mamba", "", "Mamba layers (state spaces)", all, ""},
    HybridFamily{"mamba2", "", kMamba, all, ""},
    HybridFamily{"falcon_mamba", "", "Mamba layers (state spaces)", all, ""},
    HybridFamily{"recurrent_gemma", "recurrent", "recurrent blocks (RG-LRU)", all, kAttention},
    HybridFamily{"longcat_flash", "",
                 "two attentions and two MLPs with experts beside them, some of which do nothing",
                 all, ""},
    HybridFamily{"gemma4_text", "",
                 "a dense MLP beside experts, and heads of another width where attention is full",
                 all, ""},
    HybridFamily{"gemma3n_text", "", "blocks with inputs of their own (AltUp, Laurel)", all, ""},
    HybridFamily{"step3_text", "", "multi-matrix factorization attention", all, ""},
    HybridFamily{"step3", "", "multi-matrix factorization attention", all, ""},
    HybridFamily{"mimo_v2_flash", "", "attention in a window with heads of its own", window_layers,
                 kAttention},
    HybridFamily{"nemotron-nas", "", "blocks of different sizes (block_configs)", all, ""},
    HybridFamily{"phimoe", "", "experts behind a head and attention with biases", all, ""},
};

const HybridFamily* hybrid_family(std::string_view model_type) {
  const auto* const found =
      std::find_if(kHybrids.begin(), kHybrids.end(),
                   [&](const HybridFamily& family) { return family.model_type == model_type; });
  return found == kHybrids.end() ? nullptr : found;
}

struct LayerCount {
  std::string_view key;
  std::int64_t layers = 0, of_the_kind = 0;
};

LayerCount count_of(ObjectReader& config, const HybridFamily& family) {
  for (const std::string_view key : {"layer_types", "layers_block_type", "block_types"}) {
    if (family.word.empty() || !config.has(key)) continue;
    const Json& kinds = config.required_array(key);
    return {key, static_cast<std::int64_t>(kinds.size()),
            std::count(kinds.begin(), kinds.end(), std::string(family.word))};
  }
  const std::string_view key = config.has("num_layers") ? "num_layers" : "num_hidden_layers";
  const std::int64_t layers = config.required_int(key, {1, 100'000});
  return {key, layers, family.count(config, layers)};
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

bool is_hybrid(std::string_view model_type) { return hybrid_family(model_type) != nullptr; }

void read_hybrid(ObjectReader& config, Model& /*model*/) {
  const HybridFamily& family = *hybrid_family(config.required_string("model_type"));
  const LayerCount count = count_of(config, family);
  const std::int64_t others = count.layers - count.of_the_kind;
  config.fail(count.key,
              fmt::format("of {} layers {} are {}, which are not modelled{}", count.layers,
                          count.of_the_kind, family.what,
                          others > 0 ? fmt::format("; the other {} {} {}", others,
                                                   others == 1 ? "is" : "are", family.others)
                                     : ""),
              kNothingGuessed);
}

// Granite 4 without Mamba layers is a plain block: its MLP is the shared one.
void read_granite_hybrid(ObjectReader& config, Model& model) {
  if (count_of(config, *hybrid_family("granitemoehybrid")).of_the_kind > 0) {
    return read_hybrid(config, model);
  }
  const int shared = config.optional_int("shared_intermediate_size", 0, {0, 1'000'000});
  if (config.optional_int("num_local_experts", 0, {0, 1'000'000}) == 0) {
    read_llama(config, model);
    model.ffn_hidden_size = shared;
    return;
  }
  read_mixtral(config, model);
  model.moe->moe_shared_expert_intermediate_size = shared;
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
              kNothingGuessed);
}

}  // namespace meshwright::interop::huggingface
