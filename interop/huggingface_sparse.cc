// SPDX-License-Identifier: Apache-2.0
// Families whose attention reads entries that an indexer chose: DeepSeek-V3.2, GLM-5, DeepSeek-V4,
// MiniMax-M3.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "interop/huggingface_families.h"

namespace meshwright::interop::huggingface {
namespace {

constexpr IntRange kIndexSizes{1, 1'000'000};
constexpr IntRange kSharedWidths{0, 1'000'000};

struct LetterWord {
  std::string_view word;
  char letter;
};

// A letter of Model::hybrid_layer_pattern for each entry of a list, the first `layers` of it.
std::string letters_of(ObjectReader& config, std::string_view key, int layers,
                       std::initializer_list<LetterWord> words) {
  const Json& given = config.required_array(key);
  if (given.size() < static_cast<std::size_t>(layers)) {
    config.fail(key,
                fmt::format("must have {} entries, one a layer (got {})", layers, given.size()));
  }
  std::string pattern;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    const std::string said = given[i].is_string() ? given[i].get<std::string>() : given[i].dump();
    const auto* const known = std::find_if(words.begin(), words.end(),
                                           [&](const LetterWord& one) { return one.word == said; });
    if (known == words.end()) {
      std::vector<std::string_view> allowed;
      for (const LetterWord& one : words) allowed.push_back(one.word);
      config.fail(key, fmt::format("must be of {} (entry {} is {})", fmt::join(allowed, ", "), i,
                                   given[i].dump()));
    }
    pattern += known->letter;
  }
  return pattern;
}

// Layers with an indexer of their own, and those that read what an earlier one chose.
std::string indexer_pattern(ObjectReader& config, int layers) {
  if (config.has("indexer_types")) {
    return letters_of(config, "indexer_types", layers, {{"full", 'a'}, {"shared", 's'}});
  }
  if (config.has("index_topk_pattern")) {
    if (config.member("index_topk_pattern").is_array()) {
      return letters_of(config, "index_topk_pattern", layers, {{"full", 'a'}, {"shared", 's'}});
    }
    std::string pattern = config.required_string("index_topk_pattern");
    const bool fits = pattern.size() >= static_cast<std::size_t>(layers) &&
                      pattern.find_first_not_of("FS") == std::string::npos;
    if (!fits) {
      config.fail(
          "index_topk_pattern",
          fmt::format("must be {} letters F or S, one a layer (got \"{}\")", layers, pattern));
    }
    pattern.resize(static_cast<std::size_t>(layers));
    std::replace(pattern.begin(), pattern.end(), 'F', 'a');
    std::replace(pattern.begin(), pattern.end(), 'S', 's');
    return pattern;
  }
  const int turn = config.optional_int("index_topk_freq", 1, {1, 100'000});
  const int offset = config.optional_int("index_skip_topk_offset", 2, {0, 100'000});
  std::string pattern;
  for (int i = 0; i < layers; ++i) pattern += std::max(i - offset + 1, 0) % turn == 0 ? 'a' : 's';
  return pattern;
}

// 0: the window alone; else the tokens of an entry, as the rates are.
std::string ratio_pattern(ObjectReader& config, const Model& model) {
  const CompressedAttention& compressed = *model.compressed_attention;
  const Json& ratios = config.required_array("compress_ratios");
  if (ratios.size() < static_cast<std::size_t>(model.num_layers)) {
    config.fail("compress_ratios", fmt::format("must have {} entries, one a layer (got {})",
                                               model.num_layers, ratios.size()));
  }
  std::string pattern;
  for (std::size_t i = 0; i < static_cast<std::size_t>(model.num_layers); ++i) {
    if (ratios[i] == 0) {
      pattern += 'w';
    } else if (ratios[i] == compressed.sparse_compress_rate) {
      pattern += 'a';
    } else if (ratios[i] == compressed.heavy_compress_rate) {
      pattern += 's';
    } else {
      config.fail(
          "compress_ratios",
          fmt::format("must be 0, {} or {} (entry {} is {})", compressed.sparse_compress_rate,
                      compressed.heavy_compress_rate, i, ratios[i].dump()));
    }
  }
  return pattern;
}

std::string compressed_pattern(ObjectReader& config, const Model& model) {
  if (config.has("layer_types")) {
    return letters_of(config, "layer_types", model.num_layers,
                      {{"sliding_attention", 'w'},
                       {"compressed_sparse_attention", 'a'},
                       {"heavily_compressed_attention", 's'}});
  }
  if (config.has("compress_ratios")) return ratio_pattern(config, model);
  // transformers' class: heavily compressed layers, from the third on every second one sparse.
  std::string pattern;
  for (int i = 0; i < model.num_layers; ++i) pattern += i >= 3 && i % 2 == 1 ? 'a' : 's';
  return pattern;
}

// The sparse layers of MiniMax-M3: words, or 0 and 1.
std::string block_sparse_pattern(ObjectReader& config, int layers) {
  if (config.has("layer_types")) {
    return letters_of(config, "layer_types", layers,
                      {{"minimax_m3_sparse", 'a'}, {"full_attention", 's'}});
  }
  std::string all(static_cast<std::size_t>(layers), 's');
  if (!config.has("sparse_attention_config")) return all;
  ObjectReader sparse = config.required_object("sparse_attention_config");
  if (!sparse.has("sparse_attention_freq")) return all;
  return letters_of(sparse, "sparse_attention_freq", layers, {{"1", 'a'}, {"0", 's'}});
}

BlockSparseAttention read_block_sparse(ObjectReader& config) {
  BlockSparseAttention found{
      .indexer_n_heads = config.optional_int("index_n_heads", 4, kIndexSizes),
      .indexer_head_dim = config.optional_int("index_head_dim", 128, kIndexSizes),
      .block_size = config.optional_int("index_block_size", 128, {1, 100'000}),
      .topk_blocks = config.optional_int("index_topk_blocks", 16, {1, 100'000})};
  if (!config.has("sparse_attention_config")) return found;
  ObjectReader older = config.required_object("sparse_attention_config");
  const auto read = [&](int& size, const char* key) {
    size = older.optional_int(key, size, {1, 100'000});
  };
  read(found.indexer_n_heads, "sparse_num_index_heads");
  read(found.indexer_head_dim, "sparse_index_dim");
  read(found.block_size, "sparse_block_size");
  read(found.topk_blocks, "sparse_topk_blocks");
  return found;
}

}  // namespace

// DeepSeek-V3.2 and GLM-5: an indexer chooses index_topk positions for each query.
void read_deepseek_v32(ObjectReader& config, Model& model) {
  read_deepseek_v3(config, model);
  model.mla->dsa_indexer_n_heads = config.required_int("index_n_heads", kIndexSizes);
  model.mla->dsa_indexer_head_dim = config.required_int("index_head_dim", kIndexSizes);
  model.mla->dsa_indexer_topk = config.optional_int("index_topk", 2048, kIndexSizes);
  const std::string pattern = indexer_pattern(config, model.num_layers);
  if (pattern.find('s') != std::string::npos) model.hybrid_layer_pattern = pattern;
}

void read_deepseek_v4(ObjectReader& config, Model& model) {
  model.num_layers = 43;
  model.num_attention_heads = 64;
  model.vocab_size = 129280;
  model.kv_channels = 512;
  model.ffn_hidden_size = config.optional_int("moe_intermediate_size", 2048, kIndexSizes);
  read_phi3(config, model);
  refuse_unless(config, "attention_bias", false, false, "biases in attention are not supported");
  model.num_query_groups = config.optional_int("num_key_value_heads", 1, {1, 1});
  model.sliding_window = config.optional_int("sliding_window", 128, kIndexSizes);
  model.attention_sinks = true;
  CompressedAttention compressed{
      .q_lora_rank = config.optional_int("q_lora_rank", 1024, kIndexSizes),
      .o_lora_rank = config.optional_int("o_lora_rank", 1024, kIndexSizes),
      .o_groups = config.optional_int("o_groups", 8, kIndexSizes),
      .indexer_n_heads = config.optional_int("index_n_heads", 64, kIndexSizes),
      .indexer_head_dim = config.optional_int("index_head_dim", 128, kIndexSizes),
      .indexer_topk = config.optional_int("index_topk", 512, kIndexSizes)};
  if (model.num_attention_heads % compressed.o_groups != 0) {
    config.fail("o_groups", fmt::format("must divide num_attention_heads {} (got {})",
                                        model.num_attention_heads, compressed.o_groups));
  }
  int& sparse = compressed.sparse_compress_rate;
  int& heavy = compressed.heavy_compress_rate;
  sparse = config.optional_int("compress_rate_csa", sparse, kIndexSizes);
  heavy = config.optional_int("compress_rate_hca", heavy, kIndexSizes);
  if (config.has("compress_rates")) {
    ObjectReader rates = config.required_object("compress_rates");
    sparse = rates.optional_int("compressed_sparse_attention", sparse, kIndexSizes);
    heavy = rates.optional_int("heavily_compressed_attention", heavy, kIndexSizes);
  }
  model.compressed_attention = compressed;
  model.hybrid_layer_pattern = compressed_pattern(config, model);
  model.num_residual_streams = config.optional_int("hc_mult", 4, {1, 64});
  model.moe = read_grouped_experts(config, 0);
  model.moe->moe_router_bias = true;  // e_score_correction_bias
  model.activation_func_clamp_value = config.optional_number("swiglu_limit", 10.0, {0.0, 1e9});
  model.mtp_num_layers = config.optional_int("num_nextn_predict_layers", 1, {0, 1000});
}

// intermediate_size is an expert's, dense_intermediate_size that of the layers without experts.
void read_minimax_m3(ObjectReader& config, Model& model) {
  read_phi3(config, model);
  model.qk_layernorm = true;
  MixtureOfExperts moe = read_routing(config, "num_local_experts");
  moe.moe_ffn_hidden_size = model.ffn_hidden_size;
  moe.moe_shared_expert_intermediate_size =
      config.optional_int("n_shared_experts", 1, {0, 1000}) *
      config.optional_int("shared_intermediate_size", 3072, kSharedWidths);
  moe.num_first_dense_layers = leading_dense_layers(config, 0);
  moe.moe_router_bias = true;  // e_score_correction_bias
  model.moe = moe;
  model.ffn_hidden_size = config.optional_int("dense_intermediate_size", 12288, kIndexSizes);
  model.activation_func_clamp_value = config.optional_number("swiglu_limit", 7.0, {0.0, 1e9});
  model.mtp_num_layers = config.optional_int("num_mtp_modules", 0, {0, 1000});
  const std::string pattern = block_sparse_pattern(config, model.num_layers);
  if (pattern.find('a') == std::string::npos) return;
  model.block_sparse_attention = read_block_sparse(config);
  if (pattern.find('s') != std::string::npos) model.hybrid_layer_pattern = pattern;
}

}  // namespace meshwright::interop::huggingface
