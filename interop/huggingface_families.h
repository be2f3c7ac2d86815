// SPDX-License-Identifier: Apache-2.0
// One reader a family of Hugging Face models. Source of keys and of defaults for absent keys:
// transformers, src/transformers/models/*/configuration_*.py.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/model.h"
#include "sim/record/reader.h"

namespace meshwright::interop {

using HuggingFaceFamilyReader = void (*)(ObjectReader& config, Model& model);

// The reader of a model_type, or nullptr.
HuggingFaceFamilyReader huggingface_family(std::string_view model_type);
std::vector<std::string> huggingface_model_types();
// Returns the parts of a model family that are read but not counted or predicted. It is empty if
// there are none.
std::string_view huggingface_not_modelled(std::string_view model_type);

namespace huggingface {

// One size under the first of its names that is there; an error names the first.
int required_size(ObjectReader& config, std::initializer_list<std::string_view> names);
int optional_size(ObjectReader& config, std::initializer_list<std::string_view> names,
                  int default_value);
// hidden_size, num_hidden_layers, num_attention_heads and vocab_size under any of their names. What
// the model holds already is the class's default.
void read_shape(ObjectReader& config, Model& model);
// Reads a model with as many key-value heads as heads, each hidden / heads wide.
void read_even_heads(ObjectReader& config, Model& model);
// num_key_value_heads (absent: as many as heads) and head_dim (absent: hidden / heads).
void read_grouped_heads(ObjectReader& config, Model& model);
// hidden_act and its other names: `silu` as swiglu when gated, gelu as geglu.
Activation read_activation(ObjectReader& config, std::initializer_list<std::string_view> names,
                           std::string_view default_value, bool gated);
// sliding_window: the class's default when the key is absent; null means none.
int read_sliding_window(ObjectReader& config, int default_value);
// linear_* sizes, `net` holding the class's defaults, and which layers are linear attention:
// layer_types or full_attention_interval.
void read_delta_nets(ObjectReader& config, Model& model, DeltaNet net);
// layer_types, where given: sets sliding_window_interval, or clears sliding_window.
void read_layer_types(ObjectReader& config, Model& model);
// Fails when a switch is on (or off) that changes the model into one that Model cannot express.
void refuse_unless(ObjectReader& config, std::string_view key, bool expected, bool default_value,
                   std::string_view why);

// Experts of num_experts_per_tok each; `experts` is the key of their number.
MixtureOfExperts read_routing(ObjectReader& config, std::string_view experts);
// n_routed_experts, n_shared_experts, moe_layer_freq, n_group, topk_group, and
// leading_dense_layers().
MixtureOfExperts read_grouped_experts(ObjectReader& config, int default_dense_layers);
// Layers before the first one with experts: mlp_layer_types, moe_layer_freq as a list, or
// first_k_dense_replace.
int leading_dense_layers(ObjectReader& config, int default_value);
// A window in the layers from max_window_layers on, or in those that layer_types lists.
void read_last_windows(ObjectReader& config, Model& model, int default_first);
// n_group and topk_group: one group, which all tokens choose from, is none.
void read_groups(ObjectReader& config, MixtureOfExperts& moe);

void read_llama(ObjectReader& config, Model& model);
void read_mistral(ObjectReader& config, Model& model);
void read_qwen2(ObjectReader& config, Model& model);
void read_qwen3(ObjectReader& config, Model& model);
void read_phi3(ObjectReader& config, Model& model);
void read_gemma(ObjectReader& config, Model& model);
void read_gemma2(ObjectReader& config, Model& model);
void read_gemma3(ObjectReader& config, Model& model);
void read_olmo2(ObjectReader& config, Model& model);
void read_olmo3(ObjectReader& config, Model& model);
void read_olmo_hybrid(ObjectReader& config, Model& model);
void read_apertus(ObjectReader& config, Model& model);
void read_arcee(ObjectReader& config, Model& model);
void read_ernie4_5(ObjectReader& config, Model& model);
void read_exaone4(ObjectReader& config, Model& model);
void read_glm(ObjectReader& config, Model& model);
void read_glm4(ObjectReader& config, Model& model);
void read_hunyuan(ObjectReader& config, Model& model);
void read_internlm2(ObjectReader& config, Model& model);
void read_internlm3(ObjectReader& config, Model& model);
void read_mimo(ObjectReader& config, Model& model);
void read_minicpm(ObjectReader& config, Model& model);
void read_ministral(ObjectReader& config, Model& model);
void read_seed_oss(ObjectReader& config, Model& model);
void read_smollm3(ObjectReader& config, Model& model);
void read_stablelm(ObjectReader& config, Model& model);

// Three gated delta nets, then attention with an output gate.
void read_qwen3_5(ObjectReader& config, Model& model);
void read_qwen3_next(ObjectReader& config, Model& model);

void read_mixtral(ObjectReader& config, Model& model);
void read_qwen3_moe(ObjectReader& config, Model& model);
void read_bailing_moe(ObjectReader& config, Model& model);
void read_deepseek(ObjectReader& config, Model& model);
void read_dots1(ObjectReader& config, Model& model);
void read_ernie4_5_moe(ObjectReader& config, Model& model);
void read_hunyuan_moe(ObjectReader& config, Model& model);
void read_minimax_m2(ObjectReader& config, Model& model);
void read_olmoe(ObjectReader& config, Model& model);
void read_qwen2_moe(ObjectReader& config, Model& model);
void read_glm4_moe(ObjectReader& config, Model& model);
void read_gpt_oss(ObjectReader& config, Model& model);
void read_llama4(ObjectReader& config, Model& model);

void read_deepseek_v2(ObjectReader& config, Model& model);
void read_deepseek_v3(ObjectReader& config, Model& model);
void read_glm4_moe_lite(ObjectReader& config, Model& model);

// Attention behind an indexer.
void read_deepseek_v32(ObjectReader& config, Model& model);
void read_deepseek_v4(ObjectReader& config, Model& model);
void read_minimax_m3(ObjectReader& config, Model& model);

// Latent attention alone.
void read_latent(ObjectReader& config, Model& model);

// Recurrent mixers in layers that come in no regular turn.
void read_granite_hybrid(ObjectReader& config, Model& model);
void read_bamba(ObjectReader& config, Model& model);
void read_nemotron_h(ObjectReader& config, Model& model);
void read_mamba2(ObjectReader& config, Model& model);
void read_kimi_linear(ObjectReader& config, Model& model);
void read_lfm2(ObjectReader& config, Model& model);
void read_lfm2_moe(ObjectReader& config, Model& model);
void read_minimax(ObjectReader& config, Model& model);
void read_mamba(ObjectReader& config, Model& model);
void read_jamba(ObjectReader& config, Model& model);
void read_falcon_h1(ObjectReader& config, Model& model);

// A family with layers of a kind that is not modelled.
bool is_hybrid(std::string_view model_type);
// Fails: says how many of its layers are of that kind.
void read_hybrid(ObjectReader& config, Model& model);

void read_gpt2(ObjectReader& config, Model& model);
void read_gpt_neox(ObjectReader& config, Model& model);
void read_opt(ObjectReader& config, Model& model);
void read_bloom(ObjectReader& config, Model& model);
void read_falcon(ObjectReader& config, Model& model);
void read_starcoder2(ObjectReader& config, Model& model);
void read_nemotron(ObjectReader& config, Model& model);
void read_mpt(ObjectReader& config, Model& model);
void read_cohere(ObjectReader& config, Model& model);
void read_cohere2(ObjectReader& config, Model& model);

}  // namespace huggingface
}  // namespace meshwright::interop
