// SPDX-License-Identifier: Apache-2.0
// torchtitan's flavours: those of shipped models by name, and others by their sizes
// (torchtitan/models/*/__init__.py of 2025 and 2026; the sizes are those of the models' cards).
#include <algorithm>
#include <array>

#include "interop/read_launch/torchtitan_parts.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct TitanFlavour {
  std::string_view model, flavour, name;
  int num_layers;
};
constexpr std::array kTitanShipped{TitanFlavour{"llama2", "7b", "llama-2-7b", 32},
                                   TitanFlavour{"llama2", "13b", "llama-2-13b", 40},
                                   TitanFlavour{"llama2", "70b", "llama-2-70b", 80},
                                   TitanFlavour{"llama3", "8b", "llama-3-8b", 32},
                                   TitanFlavour{"llama3", "70b", "llama-3-70b", 80},
                                   TitanFlavour{"llama3", "405b", "llama-3-405b", 126},
                                   TitanFlavour{"llama4", "17bx128e", "llama-4-maverick", 48},
                                   TitanFlavour{"deepseek_v3", "236b", "deepseek-v2", 60},
                                   TitanFlavour{"deepseek_v3", "671b", "deepseek-v3", 61},
                                   TitanFlavour{"qwen3", "8b", "qwen3-8b", 36},
                                   TitanFlavour{"qwen3", "32b", "qwen3-32b", 64},
                                   TitanFlavour{"qwen3", "30b-a3b", "qwen3-30b-a3b", 48},
                                   TitanFlavour{"qwen3", "235b-a22b", "qwen3-235b-a22b", 94},
                                   TitanFlavour{"gpt_oss", "120b", "gpt-oss-120b", 36},
                                   TitanFlavour{"kimi_k2_7", "kimi-k2.5", "kimi-k2.5", 61}};

struct TitanDense {
  std::string_view model, flavour;
  int layers, hidden, ffn, heads, groups, head, vocabulary;
  bool tied;
};
constexpr std::array kTitanDense{
    TitanDense{"llama3", "debugmodel", 6, 256, 768, 16, 16, 16, 2048, false},
    TitanDense{"llama3", "1b", 16, 2048, 8192, 32, 8, 64, 128256, true},
    TitanDense{"llama3", "3b", 28, 3072, 8192, 24, 8, 128, 128256, true},
    TitanDense{"qwen3", "0.6b", 28, 1024, 3072, 16, 8, 128, 151936, true},
    TitanDense{"qwen3", "1.7b", 28, 2048, 6144, 16, 8, 128, 151936, true},
    TitanDense{"qwen3", "4b", 36, 2560, 9728, 32, 8, 128, 151936, true},
    TitanDense{"qwen3", "14b", 40, 5120, 17408, 40, 8, 128, 151936, false}};

Model titan_dense(const TitanDense& d) {
  Model m;
  m.name = fmt::format("{}-{}", d.model, d.flavour);
  m.num_layers = d.layers;
  m.hidden_size = d.hidden;
  m.ffn_hidden_size = d.ffn;
  m.num_attention_heads = d.heads;
  m.num_query_groups = d.groups;
  m.kv_channels = d.head;
  m.vocab_size = d.vocabulary;
  m.activation = Activation::swiglu;
  m.normalization = Normalization::rms_norm;
  m.position_embedding = PositionEmbedding::rope;
  m.add_bias_linear = false;
  m.qk_layernorm = d.model == "qwen3";
  m.tied_embeddings = d.tied;
  return m;
}

// deepseek-ai/deepseek-moe-16b-base with latent attention, as DeepSeek-V2-Lite.
Model titan_deepseek_16b() {
  Model m = titan_dense({"deepseek_v3", "16b", 27, 2048, 10944, 16, 16, 192, 102400, false});
  m.moe = MixtureOfExperts{.num_moe_experts = 64,
                           .moe_router_topk = 6,
                           .moe_ffn_hidden_size = 1408,
                           .moe_shared_expert_intermediate_size = 2816,
                           .num_first_dense_layers = 1};
  m.mla = LatentAttention{
      .kv_lora_rank = 512, .qk_head_dim = 128, .qk_pos_emb_head_dim = 64, .v_head_dim = 128};
  return m;
}

// meta-llama/Llama-4-Scout-17B-16E.
Model titan_scout() {
  Model m = titan_dense({"llama4", "17bx16e", 48, 5120, 16384, 40, 8, 128, 202048, false});
  m.sliding_window = 8192;
  m.sliding_window_interval = 4;
  m.sliding_window_in_chunks = true;
  m.moe = MixtureOfExperts{.num_moe_experts = 16,
                           .moe_router_topk = 1,
                           .moe_ffn_hidden_size = 8192,
                           .moe_shared_expert_intermediate_size = 8192};
  return m;
}

// openai/gpt-oss-20b.
Model titan_gpt_oss_20b() {
  Model m = titan_dense({"gpt_oss", "20b", 24, 2880, 2880, 64, 8, 64, 201088, false});
  m.add_bias_linear = true;
  m.attention_sinks = true;
  m.rotary_mscale = 1.3465735902799727;
  m.activation_func_clamp_value = 7.0;
  m.sliding_window = 128;
  m.sliding_window_interval = 2;
  m.moe = MixtureOfExperts{.num_moe_experts = 32,
                           .moe_router_topk = 4,
                           .moe_ffn_hidden_size = 2880,
                           .moe_expert_bias = true,
                           .moe_router_bias = true};
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

std::optional<Model> titan_sizes(std::string_view model, const std::string& flavour) {
  for (const TitanDense& dense : kTitanDense) {
    if (dense.model == model && dense.flavour == flavour) return titan_dense(dense);
  }
  if (model == "deepseek_v3" && flavour == "16b") return titan_deepseek_16b();
  if (model == "llama4" && flavour == "17bx16e") return titan_scout();
  if (model == "gpt_oss" && flavour == "20b") return titan_gpt_oss_20b();
  return std::nullopt;
}

}  // namespace

void name_titan_model(TitanReading& t) {
  const Value* name = t.r.find("model.name");
  const Value* flavour = t.r.find("model.flavor");
  if (name == nullptr || flavour == nullptr || t.num_layers > 0) return;
  LaunchRecord& record = t.r.record();
  const std::string model = word_of(*name);
  const std::string size = plain_flavour(word_of(*flavour));
  for (const TitanFlavour& known : kTitanShipped) {
    if (known.model != model || known.flavour != size) continue;
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
