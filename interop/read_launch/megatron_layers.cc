// SPDX-License-Identifier: Apache-2.0
// Layers of Megatron-LM that no record here can say: other linear attention than gated delta nets,
// Mamba, layers of unequal sizes. A verdict on full attention in their place would be false.
#include <algorithm>

#include "interop/read_launch/layer_pattern.h"
#include "interop/read_launch/megatron_fields.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr const char* kHint = "plan it as a model of full attention with --model, if that is meant";

int layers_of(LaunchReading& r) {
  const Value* layers = r.find("num_layers");
  return layers == nullptr ? 0 : integer_of(*layers, {1, 100'000});
}

std::string said_of_layers(int count, int layers, const std::string& kind) {
  if (count <= 0 || layers <= 0)
    return fmt::format("its layers are in part {}, which are not modelled", kind);
  return fmt::format("{} of {} layers are {}, which are not modelled", count, layers, kind);
}

// One full layer in every n, or a list in which 1 is a linear one (transformer_config.py).
int linear_layers(LaunchReading& r, int layers) {
  const Value* frequency = r.find("linear_attention_freq");
  if (frequency == nullptr || layers == 0) return 0;
  const std::string text = word_of(*frequency);
  if (const auto pattern = layer_pattern(text)) {
    return static_cast<int>(std::count(pattern->begin(), pattern->end(), 1));
  }
  return layers - layers / integer_of(*frequency, {1, 100'000});
}

void refuse_linear_attention(LaunchReading& r) {
  const Value* type = r.find("linear_attention_type");
  const Value* variant = r.find("experimental_attention_variant");
  const Value* said = type != nullptr ? type : variant;
  const int layers = layers_of(r);
  const int linear = linear_layers(r, layers);
  if (said == nullptr) return;
  const std::string word = word_of(*said);
  if (word == "dsa") {
    r.not_understood(*said, "sparse attention is predicted as attention to all positions",
                     OptionEffect::attention);
    return;
  }
  if (word == "none" || word == "null" || word == "gated_delta_net") return;
  fail_at(*said, said_of_layers(linear, layers, "linear attention (" + word + ")"), kHint);
}

// Tells whether attention takes turns with an MLP or experts, "*-*E": a plain transformer of half
// as many layers. Writes these as num_layers and moe_layer_freq.
bool is_plain_transformer(LaunchReading& r, const Value& pattern, const std::string& letters) {
  std::string experts;
  for (std::size_t i = 0; i < letters.size(); i += 2) {
    const std::string layer = letters.substr(i, 2);
    if (layer != "*-" && layer != "*E") return false;
    append_to_list(experts, ",", layer == "*E" ? "1" : "0");
  }
  Value layers = pattern;
  layers.key = "num_layers";
  layers.words = {std::to_string(letters.size() / 2)};
  layers.used = false;
  r.values().put_over(layers);
  if (!contains(letters, "E")) return true;
  layers.key = "moe_layer_freq";
  layers.words = {"[" + experts + "]"};
  r.values().put_over(std::move(layers));
  return true;
}

// "M-M*-E": Mamba, an MLP, attention, experts.
void refuse_hybrids(LaunchReading& r) {
  for (const char* key : {"hybrid_override_pattern", "hybrid_layer_pattern"}) {
    if (!r.values().has(key)) continue;
    const Value pattern = *r.find(key);
    const std::string letters = word_of(pattern);
    if (is_plain_transformer(r, pattern, letters)) continue;
    const auto mamba = std::count(letters.begin(), letters.end(), 'M');
    const auto all = std::count_if(letters.begin(), letters.end(),
                                   [](char c) { return contains("M*-E", std::string(1, c)); });
    fail_at(
        pattern,
        mamba == 0
            ? "its layers are in no order that is modelled: attention, then an MLP or experts"
            : said_of_layers(static_cast<int>(mamba), static_cast<int>(all), "Mamba (state-space)"),
        kHint);
  }
  for (const char* key : {"is_hybrid_model", "hybrid_attention_ratio", "mamba_num_layers"}) {
    const Value* hybrid = r.find(key);
    if (hybrid == nullptr || is_off(*hybrid)) continue;
    fail_at(*hybrid, said_of_layers(0, 0, "Mamba (state-space)"), kHint);
  }
  r.values().pass_over("hybrid_mlp_ratio");
  if (const Value* spec = r.find("spec"); spec != nullptr) {
    for (const std::string& word : spec->words) {
      if (contains(word, "mamba"))
        fail_at(*spec, said_of_layers(0, 0, "Mamba (state-space)"), kHint);
    }
  }
}

}  // namespace

void refuse_unmodelled_layers(LaunchReading& r) {
  refuse_linear_attention(r);
  refuse_hybrids(r);
  for (const char* key :
       {"heterogeneous_layers_config_path", "heterogeneous_layers_config_encoded_json"}) {
    if (const Value* sizes = r.find(key); sizes != nullptr) {
      fail_at(*sizes, "its layers have unequal sizes, which are not modelled");
    }
  }
}

}  // namespace meshwright::interop
