// SPDX-License-Identifier: Apache-2.0
// Families with layers that are not modelled: refused, with those layers counted. A transformer of
// the same parameters would be predicted otherwise, so that nothing is guessed.
#include <fmt/format.h>

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

// hybrid_layer_pattern: 1 attends in a window, with heads of its own.
std::int64_t window_layers(ObjectReader& config, std::int64_t layers) {
  if (!config.has("hybrid_layer_pattern")) return layers;
  const Json& kinds = config.required_array("hybrid_layer_pattern");
  return std::count(kinds.begin(), kinds.end(), 1);
}

constexpr std::string_view kAttention = "attention";

constexpr std::array kHybrids{
    HybridFamily{"zamba2", "mamba", "Mamba-2 layers (state spaces)", all,
                 "Mamba-2 with shared attention"},
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
            std::count(kinds.begin(), kinds.end(), std::string(family.word)) +
                std::count(kinds.begin(), kinds.end(), "linear_attention")};
  }
  const std::string_view key = config.has("num_layers") ? "num_layers" : "num_hidden_layers";
  const std::int64_t layers = config.required_int(key, {1, 100'000});
  return {key, layers, family.count(config, layers)};
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

}  // namespace meshwright::interop::huggingface
