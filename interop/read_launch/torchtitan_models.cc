// SPDX-License-Identifier: Apache-2.0
// torchtitan's flavours: those of shipped models by name, and others by their sizes
// (torchtitan/models/*/__init__.py of 2025 and 2026; the sizes are those of the models' cards).
#include <algorithm>
#include <array>

#include "interop/read_launch/torchtitan_names.h"
#include "interop/read_launch/torchtitan_parts.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct TitanFlavour {
  std::string_view model, flavour, name;
  int num_layers;
};
constexpr std::array kTitanShipped{TitanFlavour{"llama2", "7B", "llama-2-7b", 32},
                                   TitanFlavour{"llama2", "13B", "llama-2-13b", 40},
                                   TitanFlavour{"llama2", "70B", "llama-2-70b", 80},
                                   TitanFlavour{"llama3", "1B", "llama-3.2-1b", 16},
                                   TitanFlavour{"llama3", "3B", "llama-3.2-3b", 28},
                                   TitanFlavour{"llama3", "8B", "llama-3-8b", 32},
                                   TitanFlavour{"llama3", "70B", "llama-3-70b", 80},
                                   TitanFlavour{"llama3", "405B", "llama-3-405b", 126},
                                   TitanFlavour{"llama4", "17bx16e", "llama-4-scout", 48},
                                   TitanFlavour{"llama4", "17bx128e", "llama-4-maverick", 48},
                                   TitanFlavour{"deepseek_v3", "236B", "deepseek-v2", 60},
                                   TitanFlavour{"deepseek_v3", "671B", "deepseek-v3", 61},
                                   TitanFlavour{"qwen3", "0.6B", "qwen3-0.6b", 28},
                                   TitanFlavour{"qwen3", "1.7B", "qwen3-1.7b", 28},
                                   TitanFlavour{"qwen3", "4B", "qwen3-4b", 36},
                                   TitanFlavour{"qwen3", "8B", "qwen3-8b", 36},
                                   TitanFlavour{"qwen3", "14B", "qwen3-14b", 40},
                                   TitanFlavour{"qwen3", "32B", "qwen3-32b", 64},
                                   TitanFlavour{"qwen3", "30B-A3B", "qwen3-30b-a3b", 48},
                                   TitanFlavour{"qwen3", "235B-A22B", "qwen3-235b-a22b", 94},
                                   TitanFlavour{"gpt_oss", "20b", "gpt-oss-20b", 24},
                                   TitanFlavour{"gpt_oss", "120b", "gpt-oss-120b", 36},
                                   TitanFlavour{"kimi_k2_7", "kimi-k2.5", "kimi-k2.5", 61}};

Model titan_dense(std::string name, int layers, int hidden, int ffn, int heads, int head,
                  int vocabulary) {
  Model m;
  m.name = std::move(name);
  m.num_layers = layers;
  m.hidden_size = hidden;
  m.ffn_hidden_size = ffn;
  m.num_attention_heads = m.num_query_groups = heads;
  m.kv_channels = head;
  m.vocab_size = vocabulary;
  m.activation = Activation::swiglu;
  m.normalization = Normalization::rms_norm;
  m.position_embedding = PositionEmbedding::rope;
  m.add_bias_linear = false;
  m.tied_embeddings = false;
  return m;
}

// deepseek-ai/deepseek-moe-16b-base with latent attention, as DeepSeek-V2-Lite.
Model titan_deepseek_16b() {
  Model m = titan_dense("deepseek_v3-16b", 27, 2048, 10944, 16, 192, 102400);
  m.moe = MixtureOfExperts{.num_moe_experts = 64,
                           .moe_router_topk = 6,
                           .moe_ffn_hidden_size = 1408,
                           .moe_shared_expert_intermediate_size = 2816,
                           .num_first_dense_layers = 1};
  m.mla = LatentAttention{
      .kv_lora_rank = 512, .qk_head_dim = 128, .qk_pos_emb_head_dim = 64, .v_head_dim = 128};
  return m;
}

// "8B_flex_attn" is 8B with another kernel.
std::string plain_flavour(const std::string& flavour) {
  std::string name = lower_case(flavour);
  for (const std::string_view end :
       {"_flex_attn", "_varlen_attn", "_flex", "_varlen", "_non_fused_qkv", "_fused_qkv", "-deepep",
        "_deepep", "_hybridep"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  return name;
}

std::optional<Model> titan_sizes(std::string_view model, std::string_view flavour) {
  if (model == "llama3" && flavour == "debugmodel") {
    return titan_dense("llama3-debugmodel", 6, 256, 768, 16, 16, 2048);
  }
  if (model == "deepseek_v3" && flavour == "16b") return titan_deepseek_16b();
  return std::nullopt;
}

}  // namespace

std::optional<TitanName> titan_name_of(std::string_view model) {
  for (const TitanFlavour& known : kTitanShipped) {
    if (known.name == model) return TitanName{known.model, known.flavour};
  }
  return std::nullopt;
}

void name_titan_model(TitanReading& t) {
  const Value* name = t.r.find("model.name");
  const Value* flavour = t.r.find("model.flavor");
  if (name == nullptr || flavour == nullptr || t.num_layers > 0) return;
  LaunchRecord& record = t.r.record();
  const std::string model = word_of(*name);
  const std::string size = plain_flavour(word_of(*flavour));
  for (const TitanFlavour& known : kTitanShipped) {
    if (known.model != model || lower_case(known.flavour) != size) continue;
    record.model_name = known.name;
    t.num_layers = known.num_layers;
    return t.r.note("model", record.model_name, *flavour);
  }
  if (const auto made = titan_sizes(model, size)) {
    record.model = *made;
    t.num_layers = made->num_layers;
    return t.r.note("model", made->name, *flavour);
  }
  t.r.not_understood(*flavour,
                     "this flavour is in torchtitan's Python; name the model with --model");
}

}  // namespace meshwright::interop
