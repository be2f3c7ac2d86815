// SPDX-License-Identifier: Apache-2.0
// Options of a pool whose value is one number, word or switch: sizes, limits and formats.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "interop/serving/pool_reading.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr IntRange kRanks{1, 100'000};
constexpr IntRange kTokens{1, 100'000'000};
constexpr std::string_view kOtherNodes =
    "address of the nodes; their number follows from the sizes";

// vLLM's "32k" is 32,000 and its "32K" 32,768. Other words stay.
std::string without_suffix(const std::string& word) {
  constexpr std::string_view kSuffixes = "kKmM";
  constexpr std::array kFactors{1e3, 1024.0, 1e6, 1024.0 * 1024.0};
  const std::size_t which = word.empty() ? std::string_view::npos : kSuffixes.find(word.back());
  if (which == std::string_view::npos) return word;
  double number = 0;
  const char* const end = word.data() + word.size() - 1;
  const auto [stopped, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stopped != end || !(number > 0) || number > 1e9) return word;
  return std::to_string(std::llround(number * kFactors[which]));
}

}  // namespace

// A process of rank 0 leads its replica; others belong to it.
void PoolReading::nodes(OptionUse use, const Value& value) {
  using Use = OptionUse;
  const bool known = value.unknown.empty() && value.words.size() == 1;
  const std::string word = known ? lower_case(value.words[0]) : "";
  if (use == Use::follower) {
    pool_.follows = pool_.follows || value.words.empty() || flag_of(value);
  } else if (use == Use::node_rank) {
    if (known) pool_.follows = pool_.follows || integer_of(value, {0, 100'000}) > 0;
  } else if (word == "mp" || word == "uni") {
    return pass(value, "how worker processes are started");
  } else if (word == "1" && spelled(value.key) == "nnodes") {
    return pass(value, "one node, as without it");
  }
  pool_.spans_nodes = true;
  pass(value, kOtherNodes);
}

void PoolReading::sizes(OptionUse use, const Value& value) {
  using Use = OptionUse;
  const bool is_switch = use == Use::expert_switch || use == Use::data_attention;
  if (is_switch) {
    const bool on = flag_of(value);
    if (use == Use::expert_switch) pool_.expert_parallel = on;
    if (use == Use::data_attention) data_attention_ = on;
    return note(use == Use::expert_switch ? "expert_parallel" : "attention_data_parallel",
                on ? "true" : "false", value);
  }
  const int count = integer_of(value, kRanks);
  const char* field = "tensor_parallel_size";
  if (use == Use::tensor) {
    tensor_ = count;
    has_tensor_size_ = true;
  } else if (use == Use::pipeline) {
    field = "pipeline_parallel_size";
    pool_.options.layout.pipeline_parallel_size = count;
  } else if (use == Use::data) {
    field = "data_parallel_size";
    data_ = count;
  } else if (use == Use::expert_ranks) {
    field = "expert_parallel_size";
    experts_ = count;
  } else {
    field = "decode_context_parallel_size";
    pool_.options.layout.decode_context_parallel_size = count;
  }
  note(field, std::to_string(count), value);
}

void PoolReading::limits(OptionUse use, const Value& value) {
  using Use = OptionUse;
  ReplicaOptions& o = pool_.options;
  if (use == Use::memory_fraction) {
    o.memory_fraction = number_of(value, {.low = 0.0, .high = 1.0, .low_excluded = true});
    if (*o.memory_fraction <= 0.0) fail_at(value, "must be above 0");
    return note("memory_fraction", number_text(*o.memory_fraction), value);
  }
  if (use == Use::eager || use == Use::not_eager) {
    o.enforce_eager = flag_of(value) == (use == Use::eager);
    return note("enforce_eager", o.enforce_eager ? "true" : "false", value);
  }
  if (use == Use::performance_mode) {
    const std::string mode = word_of(value);
    o.throughput_mode = mode == "throughput";
    if (mode == "interactivity") return pass(value, "only more sizes of CUDA graphs");
    if (!o.throughput_mode && mode != "balanced") return refuse(value, "is no such mode");
    return note("throughput_mode", o.throughput_mode ? "true" : "false", value);
  }
  if (use == Use::no_custom_all_reduce) {
    pool_.custom_all_reduce = !flag_of(value);
    return note("custom_all_reduce", pool_.custom_all_reduce ? "true" : "false", value);
  }
  if (use == Use::graph_sizes) {
    int most = 0;
    for (const std::string& word : value.words) {
      for (const std::string& part : split(replaced(replaced(word, "[", ""), "]", ""), ',')) {
        Value one = value;
        one.words = {part};
        most = std::max(most, integer_of(one, kTokens));
      }
    }
    pool_.graph_max_batch = most;
    return note("graph_max_batch", std::to_string(most), value);
  }
  // SGLang: -1 leaves prompts whole.
  if (use == Use::max_num_batched_tokens && value.words.front() == "-1") {
    return refuse(value, "prompts are not cut into chunks, which the engine's file does not hold");
  }
  const std::string said = lower_case(value.words.front());
  if (use == Use::max_model_len && (said == "auto" || said == "-1")) {
    return refuse(value, "the length follows from the memory", OptionEffect::memory);
  }
  Value plain = value;
  const bool is_limit = use == Use::max_model_len || use == Use::max_num_batched_tokens;
  if (launch_.engine == EngineKind::vllm && is_limit) {
    plain.words.front() = without_suffix(plain.words.front());
  }
  const int count = integer_of(plain, kTokens);
  const char* field = "graph_max_batch";
  int* target = &pool_.graph_max_batch;
  if (use == Use::max_num_seqs) {
    field = "max_num_seqs";
    target = &o.max_num_seqs;
  } else if (use == Use::max_num_batched_tokens) {
    field = "max_num_batched_tokens";
    target = &o.max_num_batched_tokens;
  } else if (use == Use::max_model_len) {
    field = "max_model_len";
    target = &o.max_model_len;
  } else if (use == Use::block_size) {
    field = "block_size";
    target = &o.block_size;
  } else if (use == Use::max_cache_tokens) {
    field = "max_cache_tokens";
    target = &o.max_cache_tokens;
  }
  *target = count;
  note(field, std::to_string(count), value);
}

void PoolReading::formats(OptionUse use, const Value& value) {
  using Use = OptionUse;
  if (use == Use::prefix_caching || use == Use::no_prefix_caching) {
    launch_.prefix_caching = flag_of(value) == (use == Use::prefix_caching);
    return note("prefix_caching", *launch_.prefix_caching ? "true" : "false", value);
  }
  if (use == Use::async_scheduling || use == Use::no_async_scheduling) {
    launch_.async_scheduling = flag_of(value) == (use == Use::async_scheduling);
    return note("async_scheduling", *launch_.async_scheduling ? "true" : "false", value);
  }
  const std::string word = word_of(value);
  if (use == Use::kv_cache) {
    KvCacheFormat& format = pool_.options.kv_cache;
    if (word == "auto") return pass(value, "the model's format, as without it");
    if (word == "fp8" && launch_.engine == EngineKind::sglang) {
      launch_.cannot_start.push_back({.said = value.said,
                                      .why = "is no choice of SGLang, which has fp8_e4m3",
                                      .place = value.place});
    }
    if (word == "fp8" || word == "fp8_e4m3" || word == "fp8_e5m2") {
      format = KvCacheFormat::fp8;
    } else if (word == "bfloat16" || word == "bf16" || word == "float16" || word == "fp16") {
      format = KvCacheFormat::bf16;
    } else if (word == "fp8_ds_mla") {
      format = KvCacheFormat::fp8_ds_mla;
    } else if (word == "nvfp4" || word == "fp4_e2m1") {
      format = KvCacheFormat::nvfp4;
    } else {
      return refuse(value, "is no known format of the cache", OptionEffect::precision);
    }
    launch_.kv_cache_said = true;
    return note("kv_cache", std::string(name_of(format)), value);
  }
  if (use == Use::data_type) {
    if (word == "auto" || word == "bfloat16" || word == "float16" || word == "half") {
      return pass(value, "16-bit activations, as every engine's file holds");
    }
    return refuse(value, "activations of another width", OptionEffect::precision);
  }
  if (is_quantization_method(word)) {
    launch_.quantized_checkpoint = true;
    return pass(value, "the checkpoint says its format");
  }
  launch_.weights = quantized_format(word);
  if (!launch_.weights) {
    return refuse(value, "is no known format of weights", OptionEffect::precision);
  }
  note("weights", std::string(name_of(*launch_.weights)), value);
}

}  // namespace meshwright::interop
