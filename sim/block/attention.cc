// SPDX-License-Identifier: Apache-2.0
#include "sim/block/attention.h"

#include "sim/block/indexer.h"

namespace meshwright {
namespace {

constexpr LinearNames kQkvLinear{"attention.qkv", "attention.quantize_qkv",
                                 "attention.dequantize_qkv"};
constexpr LinearNames kQueryLinear{"attention.q", "attention.quantize_q", "attention.dequantize_q"};
constexpr LinearNames kQueryDownLinear{"attention.q_down", "attention.quantize_q_down",
                                       "attention.dequantize_q_down"};
constexpr LinearNames kQueryUpLinear{"attention.q_up", "attention.quantize_q_up",
                                     "attention.dequantize_q_up"};
constexpr LinearNames kKeyValueDownLinear{"attention.kv_down", "attention.quantize_kv_down",
                                          "attention.dequantize_kv_down"};
constexpr LinearNames kKeyValueUpLinear{"attention.kv_up", "attention.quantize_kv_up",
                                        "attention.dequantize_kv_up"};
constexpr LinearNames kProjectionLinear{"attention.projection", "attention.quantize_projection",
                                        "attention.dequantize_projection"};

LayerPart attention_input(const LinearNames& names, Module module, Split split, std::int64_t inputs,
                          std::int64_t outputs) {
  return {.names = &names,
          .module = module,
          .quantized = kQuantizedAttentionInput,
          .split = split,
          .inputs = inputs,
          .outputs = outputs};
}

// Rotated parts of keys, one for all heads.
LayerPart rotary_key(const Model& model) {
  return {.inputs = 0,
          .outputs = model.mla->qk_pos_emb_head_dim,
          .exchange = Exchange::shared,
          .transfers = &transfer_names::kRotaryKey,
          .exchanged = "b*s*qk_pos_emb_head_dim*w/c"};
}

std::int64_t query_rank(const Model& model) {
  return model.mla ? model.mla->q_lora_rank : model.compressed_attention->q_lora_rank;
}

void append_latent(LayerParts& parts, const Model& model) {
  if (model.mla->q_lora_rank > 0) {
    parts.push_back(query_down(model));
    parts.push_back(query_up(model));
  } else {
    parts.push_back(direct_query(model));
  }
  parts.push_back(key_value_down(model));
  parts.push_back(key_value_up(model));
  parts.push_back(rotary_key(model));
}

}  // namespace

LayerPart query_key_value(const Model& model) {
  const std::int64_t query = query_size(model), key = key_size(model);
  const std::int64_t gate = model.attention_output_gate ? query : 0;
  LayerPart part = attention_input(kQkvLinear, Module::attention_linear, Split::columns,
                                   model.hidden_size, query + gate + 2 * key);
  part.group_outputs = 2 * key;
  part.groups = model.num_query_groups;
  if (model.add_bias_linear || model.add_qkv_bias) part.cut_numbers = part.outputs;
  if (model.qk_layernorm && model.qk_layernorm_all_heads) {
    part.cut_numbers += norm_numbers(model, query + key);
  } else if (model.qk_layernorm) {
    part.whole_numbers = 2 * norm_numbers(model, model.kv_channels);
  }
  part.exchange = Exchange::input;
  part.transfers = &transfer_names::kAttention;
  return part;
}

LayerPart attention_projection(const Model& model) {
  return {.names = &kProjectionLinear,
          .module = Module::attention_linear,
          .quantized = kQuantizedAttentionOutput,
          .split = Split::rows,
          .inputs = model.compressed_attention ? grouped_output(model).outputs
                                               : attention_output_size(model),
          .outputs = model.hidden_size,
          .cut_numbers = model.attention_sinks ? model.num_attention_heads : 0,
          .whole_numbers = model.add_bias_linear ? model.hidden_size : 0,
          .exchange = Exchange::output,
          .transfers = &transfer_names::kAttention};
}

LayerPart direct_query(const Model& model) {
  LayerPart part = attention_input(kQueryLinear, Module::attention_linear, Split::columns,
                                   model.hidden_size, query_size(model));
  part.exchange = Exchange::input;
  part.transfers = &transfer_names::kLatentQuery;
  return part;
}

LayerPart query_down(const Model& model) {
  const std::int64_t rank = query_rank(model);
  LayerPart part = attention_input(kQueryDownLinear, Module::attention_linear, Split::whole,
                                   model.hidden_size, rank);
  part.whole_numbers = norm_numbers(model, rank);
  return part;
}

LayerPart query_up(const Model& model) {
  LayerPart part = attention_input(kQueryUpLinear, Module::mla_up_projection, Split::columns,
                                   query_rank(model), query_size(model));
  part.exchange = Exchange::input;
  part.transfers = &transfer_names::kLatentQuery;
  part.exchanged = "b*s*q_lora_rank*w/c";
  return part;
}

LayerPart key_value_down(const Model& model) {
  const std::int64_t rank = model.mla->kv_lora_rank;
  LayerPart part = attention_input(kKeyValueDownLinear, Module::attention_linear, Split::whole,
                                   model.hidden_size, rank + model.mla->qk_pos_emb_head_dim);
  part.whole_numbers = norm_numbers(model, rank);
  return part;
}

LayerPart key_value_up(const Model& model) {
  const LatentAttention& mla = *model.mla;
  const std::int64_t width = std::int64_t{mla.qk_head_dim} + mla.v_head_dim;
  LayerPart part = attention_input(kKeyValueUpLinear, Module::mla_up_projection, Split::columns,
                                   mla.kv_lora_rank, model.num_attention_heads * width);
  part.exchange = Exchange::input;
  part.transfers = &transfer_names::kLatentKeyValue;
  part.exchanged = "b*s*kv_lora_rank*w/c";
  return part;
}

LayerParts attention_parts(const Model& model, LayerKind kind) {
  if (model.num_attention_heads == 0) return {};
  LayerParts parts;
  parts.reserve(10);
  if (model.compressed_attention) {
    parts = {query_down(model), query_up(model), shared_key_value(model)};
    append_compressor(parts, model, kind);
    parts.push_back(grouped_output(model));
  } else {
    if (model.mla) {
      append_latent(parts, model);
    } else {
      parts.push_back(query_key_value(model));
    }
    append_indexer(parts, model, kind);
  }
  parts.push_back(attention_projection(model));
  return parts;
}

}  // namespace meshwright
