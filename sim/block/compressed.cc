// SPDX-License-Identifier: Apache-2.0
// Compressed attention of DeepSeek-V4 (transformers, modeling_deepseek_v4.py). One head of keys,
// which are the values too, is whole on each tensor rank. Heads of queries and groups of the output
// are split.
#include "sim/block/attention.h"
#include "sim/block/indexer.h"

namespace meshwright {
namespace {

constexpr LinearNames kKeyValue{"attention.kv", "attention.quantize_kv", "attention.dequantize_kv"};
constexpr LinearNames kCompressor{"attention.compressor", "attention.quantize_compressor",
                                  "attention.dequantize_compressor"};
constexpr LinearNames kGroupedOutput{"attention.grouped_output",
                                     "attention.quantize_grouped_output",
                                     "attention.dequantize_grouped_output"};

}  // namespace

LayerPart shared_key_value(const Model& model) {
  return {.names = &kKeyValue,
          .module = Module::attention_linear,
          .quantized = kQuantizedAttentionInput,
          .inputs = model.hidden_size,
          .outputs = model.kv_channels,
          .whole_numbers = norm_numbers(model, model.kv_channels),
          .exchange = Exchange::shared,
          .transfers = &transfer_names::kLatentKeyValue,
          .exchanged = "b*s*kv_channels*w/c"};
}

// Block-diagonal: each group of heads has a product of its own.
LayerPart grouped_output(const Model& model) {
  const CompressedAttention& compressed = *model.compressed_attention;
  return {.names = &kGroupedOutput,
          .module = Module::attention_linear,
          .quantized = kQuantizedAttentionOutput,
          .split = Split::columns,
          .inputs = attention_output_size(model) / compressed.o_groups,
          .outputs = std::int64_t{compressed.o_groups} * compressed.o_lora_rank};
}

// Values and weights of an entry, in one product; a bias for each token of an entry. An entry of
// the sparse rate is made of two runs of tokens, each with columns of its own.
void append_compressor(LayerParts& parts, const Model& model, LayerKind kind) {
  if (kind.sliding_window) return;
  const CompressedAttention& compressed = *model.compressed_attention;
  const std::int64_t width = kind.without_indexer ? model.kv_channels : 2 * model.kv_channels;
  const std::int64_t rate =
      kind.without_indexer ? compressed.heavy_compress_rate : compressed.sparse_compress_rate;
  parts.push_back({.names = &kCompressor,
                   .module = Module::attention_linear,
                   .inputs = model.hidden_size,
                   .outputs = 2 * width,
                   .whole_numbers = rate * width + norm_numbers(model, model.kv_channels)});
  append_indexer(parts, model, kind);
}

}  // namespace meshwright
