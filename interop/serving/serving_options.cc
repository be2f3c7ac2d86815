// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "interop/read_launch/launcher_words.h"
#include "interop/serving/gone_options.h"
#include "sim/base/text.h"
#include "sim/record/reader.h"

namespace meshwright::interop {
namespace {

using Use = OptionUse;

// Options that say something of a replica. configs/launchers has the others.
constexpr std::array kVllm{
    ServingOption{"model", Use::model},
    ServingOption{"tensor-parallel-size tp", Use::tensor},
    ServingOption{"pipeline-parallel-size pp", Use::pipeline},
    ServingOption{"data-parallel-size dp", Use::data},
    ServingOption{"data-parallel-size-local dpl nnodes n", Use::other_nodes},
    ServingOption{"data-parallel-start-rank dpr data-parallel-rank dpn node-rank r",
                  Use::node_rank},
    ServingOption{"headless", Use::follower, {}, 0},
    ServingOption{"enable-expert-parallel ep", Use::expert_switch, {}, 0},
    ServingOption{"all2all-backend", Use::exchange},
    ServingOption{"decode-context-parallel-size dcp", Use::context},
    ServingOption{"gpu-memory-utilization device-memory-utilization", Use::memory_fraction},
    ServingOption{"max-num-seqs", Use::max_num_seqs},
    ServingOption{"max-num-batched-tokens", Use::max_num_batched_tokens},
    ServingOption{"max-model-len", Use::max_model_len},
    ServingOption{"block-size", Use::block_size},
    ServingOption{"max-cudagraph-capture-size", Use::graph_max_batch},
    ServingOption{"cudagraph-capture-sizes cuda-graph-sizes", Use::graph_sizes, {}, 1000},
    ServingOption{"performance-mode", Use::performance_mode},
    ServingOption{"enforce-eager", Use::eager, {}, 0},
    ServingOption{"no-enforce-eager", Use::not_eager, {}, 0},
    ServingOption{"kv-cache-dtype", Use::kv_cache},
    ServingOption{"quantization q", Use::quantization},
    ServingOption{"dtype", Use::data_type},
    ServingOption{"enable-prefix-caching", Use::prefix_caching, {}, 0},
    ServingOption{"no-enable-prefix-caching", Use::no_prefix_caching, {}, 0},
    ServingOption{"speculative-config sc", Use::speculation},
    ServingOption{"spec-method", Use::speculation_method},
    ServingOption{"spec-tokens", Use::draft_layers},
    ServingOption{"kv-transfer-config", Use::transfer},
    ServingOption{"disaggregation-mode", Use::role},
    ServingOption{"config", Use::configuration},
    ServingOption{"async-scheduling", Use::async_scheduling, {}, 0},
    ServingOption{"no-async-scheduling", Use::no_async_scheduling, {}, 0},
    ServingOption{"enable-chunked-prefill", Use::refused_if_off,
                  "switches off what the engine's file holds", 0, OptionEffect::batch},
    ServingOption{"is-prefill-worker", Use::prefill_worker, {}, 0},
    ServingOption{"is-decode-worker", Use::decode_worker, {}, 0},
    ServingOption{"rope-scaling rope-theta", Use::positions},
    ServingOption{"hf-overrides hf-overrides.", Use::model_overrides},
    ServingOption{"compilation-config compilation-config. cc cc. O O. optimization-level",
                  Use::compilation},
    ServingOption{"disable-custom-all-reduce", Use::no_custom_all_reduce, {}, 0},
    ServingOption{"distributed-executor-backend", Use::other_nodes},
};

constexpr std::array kSglang{
    ServingOption{"model-path model", Use::model},
    ServingOption{"tensor-parallel-size tp-size tp", Use::tensor},
    ServingOption{"pipeline-parallel-size pp-size pp", Use::pipeline},
    ServingOption{"data-parallel-size dp-size dp", Use::data},
    ServingOption{"expert-parallel-size ep-size ep", Use::expert_ranks},
    ServingOption{"enable-dp-attention", Use::data_attention, {}, 0},
    ServingOption{"nnodes", Use::other_nodes},
    ServingOption{"node-rank", Use::node_rank},
    ServingOption{"moe-a2a-backend", Use::exchange},
    ServingOption{"deepep-mode", Use::exchange},
    ServingOption{"mem-fraction-static", Use::memory_fraction},
    ServingOption{"max-running-requests", Use::max_num_seqs},
    ServingOption{"chunked-prefill-size", Use::max_num_batched_tokens},
    ServingOption{"context-length", Use::max_model_len},
    ServingOption{"page-size", Use::block_size},
    ServingOption{"max-total-tokens", Use::max_cache_tokens},
    ServingOption{"cuda-graph-max-bs cuda-graph-max-bs-decode", Use::graph_max_batch},
    ServingOption{"cuda-graph-bs cuda-graph-bs-decode", Use::graph_sizes, {}, 1000},
    ServingOption{"disable-cuda-graph", Use::eager, {}, 0},
    ServingOption{"kv-cache-dtype", Use::kv_cache},
    ServingOption{"quantization", Use::quantization},
    ServingOption{"dtype", Use::data_type},
    ServingOption{"disable-radix-cache", Use::no_prefix_caching, {}, 0},
    ServingOption{"speculative-algorithm speculative-algo", Use::speculation_method},
    ServingOption{"speculative-num-draft-tokens", Use::draft_tokens},
    ServingOption{"disaggregation-mode", Use::role},
    ServingOption{"config", Use::configuration},
    ServingOption{"json-model-override-args", Use::model_overrides},
    ServingOption{"disable-custom-all-reduce", Use::no_custom_all_reduce, {}, 0},
};

// Options of trtllm-serve, and keys of its YAML.
constexpr std::array kTensorRtLlm{
    ServingOption{"model model-path", Use::model},
    ServingOption{"tp-size tensor-parallel-size", Use::tensor},
    ServingOption{"pp-size pipeline-parallel-size", Use::pipeline},
    ServingOption{"ep-size moe-expert-parallel-size", Use::expert_ranks},
    ServingOption{"enable-attention-dp", Use::data_attention, {}, 0},
    ServingOption{"kv-cache-free-gpu-memory-fraction kv-cache-config.free-gpu-memory-fraction "
                  "free-gpu-memory-fraction",
                  Use::memory_fraction},
    ServingOption{"max-batch-size", Use::max_num_seqs},
    ServingOption{"max-num-tokens", Use::max_num_batched_tokens},
    ServingOption{"max-seq-len", Use::max_model_len},
    ServingOption{"kv-cache-config.tokens-per-block", Use::block_size},
    ServingOption{"kv-cache-config.max-tokens", Use::max_cache_tokens},
    ServingOption{"cuda-graph-config.max-batch-size cuda-graph-max-batch-size",
                  Use::graph_max_batch},
    ServingOption{
        "cuda-graph-config.batch-sizes cuda-graph-batch-sizes", Use::graph_sizes, {}, 1000},
    ServingOption{"use-cuda-graph", Use::not_eager, {}, 0},
    ServingOption{"cuda-graph-config.enable-padding cuda-graph-padding-enabled",
                  Use::refused_if_off, "steps that are no captured size run without a graph", 0},
    ServingOption{"kv-cache-config.dtype kv-cache-dtype", Use::kv_cache},
    ServingOption{"quantization quant-config.quant-algo", Use::quantization},
    ServingOption{"dtype", Use::data_type},
    ServingOption{"kv-cache-config.enable-block-reuse", Use::prefix_caching, {}, 0},
    ServingOption{"speculative-config.decoding-type", Use::speculation_method},
    ServingOption{"speculative-config.num-nextn-predict-layers speculative-config.max-draft-len",
                  Use::draft_layers},
    ServingOption{"extra-llm-api-options extra-engine-args config", Use::configuration},
    ServingOption{"server-role disaggregation-mode", Use::role},
    ServingOption{"disable-overlap-scheduler", Use::refused_but_in_prefill,
                  "host and device take turns", 0},
};

// Words of a format, and the engines for which it is the one that is written: those with which they
// make the format themselves from 16 bits, else the usual one of checkpoints that store it. vLLM
// docs/features/quantization/online, SGLang server_args.py, TensorRT-LLM quantization/mode.py.
struct QuantizationWord {
  std::string_view word;
  WeightFormat format;
  bool vllm = false, sglang = false, tensorrt_llm = false;
};
constexpr std::array kQuantizations{
    QuantizationWord{"fp8", WeightFormat::fp8, true, true},
    QuantizationWord{"FP8", WeightFormat::fp8, false, false, true},
    QuantizationWord{"fp8_per_tensor", WeightFormat::fp8},
    QuantizationWord{"w8a8_fp8", WeightFormat::fp8},
    QuantizationWord{"modelopt_fp8", WeightFormat::fp8},
    QuantizationWord{"fp8_per_block", WeightFormat::fp8_block, true},
    QuantizationWord{"deepseek_v4_fp8", WeightFormat::fp8_block},
    QuantizationWord{"fp8", WeightFormat::fp8_block, false, true},
    QuantizationWord{"FP8_BLOCK_SCALES", WeightFormat::fp8_block, false, false, true},
    QuantizationWord{"FP8_PB_WO", WeightFormat::fp8_block},
    QuantizationWord{"mxfp8", WeightFormat::mxfp8, true, true},
    QuantizationWord{"awq", WeightFormat::int4},
    QuantizationWord{"awq_marlin", WeightFormat::int4, true, true},
    QuantizationWord{"gptq", WeightFormat::int4},
    QuantizationWord{"gptq_marlin", WeightFormat::int4},
    QuantizationWord{"W4A16_AWQ", WeightFormat::int4, false, false, true},
    QuantizationWord{"mxfp4", WeightFormat::mxfp4, true, true},
    QuantizationWord{"W4A16_MXFP4", WeightFormat::mxfp4, false, false, true},
    QuantizationWord{"modelopt_fp4", WeightFormat::nvfp4, true, true},
    QuantizationWord{"NVFP4", WeightFormat::nvfp4, false, false, true}};

bool has_name(std::string_view names, std::string_view name) {
  const std::vector<std::string> all = split_words(names);
  return std::any_of(all.begin(), all.end(), [&](const std::string& one) {
    return one.ends_with('.') ? name.starts_with(one) : one == name;
  });
}

// An engine's options that are read, and the words of its launcher.
class OptionTable {
 public:
  OptionTable(std::span<const ServingOption> read, std::string_view launcher)
      : words_(launcher_words(launcher)), rows_(read.begin(), read.end()) {
    for (const WordGroup& group : words_.words) {
      std::string& names = texts_.emplace_back();
      for (const std::string& name : group.names) {
        append_to_list(names, " ", name.substr(0, name.find('*')));
      }
      const bool harmless = group.word_class == WordClass::harmless;
      rows_.push_back({names,
                       harmless       ? Use::nothing
                       : group.always ? Use::refused
                                      : Use::refused_if_on,
                       group.why,
                       group.takes == WordTakes::many  ? 1000
                       : group.takes == WordTakes::one ? 1
                                                       : 0,
                       group.effect});
    }
    for (const ServingOption& row : rows_) {
      for (std::string& name : split_words(row.names)) names_.push_back(std::move(name));
    }
  }
  [[nodiscard]] const LauncherWords& words() const { return words_; }
  [[nodiscard]] const std::vector<ServingOption>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  const LauncherWords& words_;
  std::vector<ServingOption> rows_;
  std::deque<std::string> texts_;  // never moved
  std::vector<std::string> names_;
};

const OptionTable& table_of(EngineKind engine) {
  static const OptionTable vllm(kVllm, "vllm"), sglang(kSglang, "sglang"),
      tensorrt_llm(kTensorRtLlm, "tensorrt-llm");
  return engine == EngineKind::vllm ? vllm : engine == EngineKind::sglang ? sglang : tensorrt_llm;
}

constexpr std::size_t kShortestBeginning = 2;

// The one name that begins so, as argparse completes it; else the name itself.
std::string_view completed(EngineKind engine, std::string_view name) {
  if (!table_of(engine).words().abbreviates || name.size() < kShortestBeginning) return name;
  std::string_view found;
  for (const std::string& known : table_of(engine).names()) {
    if (!known.starts_with(name) || !release_without(engine, known).empty()) continue;
    if (!found.empty()) return name;
    found = known;
  }
  return found.empty() ? name : found;
}

const ServingOption* option_of_name(EngineKind engine, std::string_view name) {
  for (const ServingOption& option : serving_options(engine)) {
    if (has_name(option.names, name)) return &option;
  }
  return nullptr;
}

}  // namespace

std::span<const ServingOption> serving_options(EngineKind engine) {
  return table_of(engine).rows();
}

const ServingOption* serving_option(EngineKind engine, std::string_view name) {
  const ServingOption* option = option_of_name(engine, name);
  return option != nullptr ? option : option_of_name(engine, completed(engine, name));
}

std::string why_unknown_option(EngineKind engine, std::string_view name) {
  const OptionTable& table = table_of(engine);
  const std::string near = nearest(name, table.names());
  return fmt::format("is no known option of {} {}{}", table.words().launcher, table.words().version,
                     near.empty() ? "" : "; the nearest is --" + near);
}

std::optional<WeightFormat> quantized_format(std::string_view word) {
  for (const QuantizationWord& one : kQuantizations) {
    if (lower_case(one.word) == lower_case(word)) return one.format;
  }
  return std::nullopt;
}

bool is_quantization_method(std::string_view word) {
  return has_name(
      "auto-round compressed-tensors inc modelopt modelopt_mixed modelslim moe_wna16 quark", word);
}

std::string_view quantization_word(EngineKind engine, WeightFormat format) {
  for (const QuantizationWord& one : kQuantizations) {
    const bool written = engine == EngineKind::vllm     ? one.vllm
                         : engine == EngineKind::sglang ? one.sglang
                                                        : one.tensorrt_llm;
    if (one.format == format && written) return one.word;
  }
  return "";
}

std::string spelled(std::string_view key) {
  const std::size_t begin = key.find_first_not_of('-');
  std::string name(begin == std::string_view::npos ? std::string_view{} : key.substr(begin));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace meshwright::interop
