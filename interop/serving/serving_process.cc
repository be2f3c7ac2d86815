// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "interop/serving/serving_options.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// Options of one process, and the lines of a YAML that it names.
class Options {
 public:
  template <typename Value>
  void set(std::string_view name, const Value& value) {
    words_.push_back(fmt::format("{} {}", name, value));
  }
  void flag(std::string_view name) { words_.emplace_back(name); }
  void set_if(int value, std::string_view name) {
    if (value > 0) set(name, value);
  }
  void yaml(const std::string& line) { yaml_.push_back(line); }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[nodiscard]] const std::vector<std::string>& yaml_lines() const { return yaml_; }

 private:
  std::vector<std::string> words_, yaml_;
};

// Written with all digits that are read back.
std::string exact(double number) { return number_text(number, 15); }

std::string_view kv_word(KvCacheFormat format, EngineKind engine) {
  if (format == KvCacheFormat::fp8) return engine == EngineKind::sglang ? "fp8_e4m3" : "fp8";
  return name_of(format);
}

// Of weights that are not as the checkpoint stores them.
std::string_view weights_word(const ServingLaunch& launch) {
  const std::string_view word = quantization_word(launch.engine, *launch.weights);
  if (!word.empty()) return word;
  throw InputError("--weights", "",
                   fmt::format("{} makes no {} weights of {}", title_of(launch.engine),
                               name_of(*launch.weights), launch.model),
                   "--checkpoint with the name of one that stores them");
}

void vllm_options(const ServingLaunch& launch, const LaunchedPool& pool, bool dynamo,
                  Options& out) {
  const ReplicaOptions& o = pool.options;
  const ReplicaLayout& l = o.layout;
  out.set("--tensor-parallel-size", l.tensor_parallel_size);
  if (l.pipeline_parallel_size > 1) out.set("--pipeline-parallel-size", l.pipeline_parallel_size);
  if (l.data_parallel_size > 1) out.set("--data-parallel-size", l.data_parallel_size);
  if (l.decode_context_parallel_size > 1) {
    out.set("--decode-context-parallel-size", l.decode_context_parallel_size);
  }
  const int ranks = l.tensor_parallel_size * l.data_parallel_size;
  if (l.expert_parallel_size > 1 && l.expert_parallel_size != ranks) {
    throw InputError(
        "expert_parallel_size", "",
        fmt::format("must be 1 or all {} ranks in vLLM (got {})", ranks, l.expert_parallel_size));
  }
  if (l.expert_parallel_size > 1 || pool.expert_parallel) out.flag("--enable-expert-parallel");
  const bool exchanges = l.expert_parallel_size > 1 && l.data_parallel_size > 1;
  if (exchanges && o.exchange != ExpertExchange::automatic &&
      o.exchange != ExpertExchange::all_reduce) {
    out.set("--all2all-backend", name_of(o.exchange));
  }
  if (launch.weights) out.set("--quantization", weights_word(launch));
  if (o.memory_fraction) out.set("--gpu-memory-utilization", exact(*o.memory_fraction));
  out.set_if(o.max_num_seqs, "--max-num-seqs");
  out.set_if(o.max_num_batched_tokens, "--max-num-batched-tokens");
  out.set_if(o.max_model_len, "--max-model-len");
  out.set_if(o.block_size, "--block-size");
  out.set_if(pool.graph_max_batch, "--max-cudagraph-capture-size");
  if (o.kv_cache != KvCacheFormat::bf16) {
    out.set("--kv-cache-dtype", kv_word(o.kv_cache, launch.engine));
  }
  if (o.enforce_eager) out.flag("--enforce-eager");
  if (!pool.custom_all_reduce) out.flag("--disable-custom-all-reduce");
  if (launch.async_scheduling) {
    out.flag(*launch.async_scheduling ? "--async-scheduling" : "--no-async-scheduling");
  }
  if (launch.prefix_caching) {
    out.flag(*launch.prefix_caching ? "--enable-prefix-caching" : "--no-enable-prefix-caching");
  }
  if (o.num_speculative_tokens > 0) {
    out.set("--speculative-config",
            fmt::format("'{{\"method\": \"mtp\", \"num_speculative_tokens\": {}}}'",
                        o.num_speculative_tokens));
  }
  if (pool.role == PoolRole::aggregated) return;
  // Dynamo's worker has an option for its role; the connector serves both.
  if (dynamo) out.set("--disaggregation-mode", name_of(pool.role));
  const char* role = dynamo                           ? "kv_both"
                     : pool.role == PoolRole::prefill ? "kv_producer"
                                                      : "kv_consumer";
  out.set("--kv-transfer-config",
          fmt::format("'{{\"kv_connector\": \"NixlConnector\", \"kv_role\": \"{}\"}}'", role));
}

void sglang_options(const ServingLaunch& launch, const LaunchedPool& pool, Options& out) {
  const ReplicaOptions& o = pool.options;
  const ReplicaLayout& l = o.layout;
  out.set("--tensor-parallel-size", l.tensor_parallel_size * l.data_parallel_size);
  if (l.pipeline_parallel_size > 1) out.set("--pipeline-parallel-size", l.pipeline_parallel_size);
  if (l.data_parallel_size > 1) {
    out.set("--data-parallel-size", l.data_parallel_size);
    out.flag("--enable-dp-attention");
  }
  if (o.exchange == ExpertExchange::deepep_low_latency ||
      o.exchange == ExpertExchange::deepep_high_throughput) {
    out.set("--moe-a2a-backend", "deepep");
    out.set("--deepep-mode",
            o.exchange == ExpertExchange::deepep_low_latency ? "low_latency" : "normal");
  }
  if (l.expert_parallel_size > 1) out.set("--expert-parallel-size", l.expert_parallel_size);
  if (launch.weights) out.set("--quantization", weights_word(launch));
  if (o.memory_fraction) out.set("--mem-fraction-static", exact(*o.memory_fraction));
  out.set_if(o.max_num_seqs, "--max-running-requests");
  out.set_if(o.max_num_batched_tokens, "--chunked-prefill-size");
  out.set_if(o.max_model_len, "--context-length");
  out.set_if(o.block_size, "--page-size");
  out.set_if(pool.graph_max_batch, "--cuda-graph-max-bs");
  if (o.kv_cache != KvCacheFormat::bf16) {
    out.set("--kv-cache-dtype", kv_word(o.kv_cache, launch.engine));
  }
  if (o.enforce_eager) out.flag("--disable-cuda-graph");
  if (!pool.custom_all_reduce) out.flag("--disable-custom-all-reduce");
  if (launch.prefix_caching && !*launch.prefix_caching) out.flag("--disable-radix-cache");
  if (o.num_speculative_tokens > 0) {
    out.set("--speculative-algorithm", "NEXTN");
    out.set("--speculative-num-steps", o.num_speculative_tokens);
    out.set("--speculative-eagle-topk", 1);
    out.set("--speculative-num-draft-tokens", o.num_speculative_tokens + 1);
  }
  if (pool.role != PoolRole::aggregated) out.set("--disaggregation-mode", name_of(pool.role));
}

// Sizes are options of trtllm-serve; under Dynamo they are keys of the YAML.
void tensorrt_llm_sizes(const LaunchedPool& pool, bool dynamo, Options& out) {
  const ReplicaLayout& l = pool.options.layout;
  const auto size = [&](const char* option, const char* key, int value) {
    if (dynamo) {
      out.yaml(fmt::format("{}: {}", key, value));
    } else {
      out.set(option, value);
    }
  };
  size("--tp_size", "tensor_parallel_size", l.tensor_parallel_size * l.data_parallel_size);
  if (l.pipeline_parallel_size > 1) {
    size("--pp_size", "pipeline_parallel_size", l.pipeline_parallel_size);
  }
  if (l.expert_parallel_size > 1) {
    size("--ep_size", "moe_expert_parallel_size", l.expert_parallel_size);
  }
  const auto limit = [&](const char* option, const char* of_dynamo, int value) {
    out.set_if(value, dynamo ? of_dynamo : option);
  };
  limit("--max_batch_size", "--max-batch-size", pool.options.max_num_seqs);
  limit("--max_num_tokens", "--max-num-tokens", pool.options.max_num_batched_tokens);
  limit("--max_seq_len", "--max-seq-len", pool.options.max_model_len);
}

void tensorrt_llm_options(const ServingLaunch& launch, const LaunchedPool& pool, bool dynamo,
                          Options& out) {
  const ReplicaOptions& o = pool.options;
  const ReplicaLayout& l = o.layout;
  if (l.data_parallel_size > 1 && l.tensor_parallel_size > 1) {
    throw InputError("data_parallel_size", "",
                     fmt::format("must be all GPUs or 1 in TensorRT-LLM (got {} beside a tensor "
                                 "size of {})",
                                 l.data_parallel_size, l.tensor_parallel_size));
  }
  tensorrt_llm_sizes(pool, dynamo, out);
  if (pool.role != PoolRole::aggregated) {
    if (dynamo) {
      out.set("--disaggregation-mode", name_of(pool.role));
    } else {
      out.set("--server_role", pool.role == PoolRole::prefill ? "context" : "generation");
    }
    out.yaml("cache_transceiver_config:");
    out.yaml("  backend: NIXL");
    if (pool.role == PoolRole::prefill) out.yaml("disable_overlap_scheduler: true");
  }
  if (launch.weights) {
    out.yaml("quant_config:");
    out.yaml(fmt::format("  quant_algo: {}", weights_word(launch)));
  }
  if (l.data_parallel_size > 1) out.yaml("enable_attention_dp: true");
  const bool reuse = launch.prefix_caching.value_or(true);
  if (o.memory_fraction || o.block_size > 0 || o.kv_cache != KvCacheFormat::bf16 || !reuse) {
    out.yaml("kv_cache_config:");
    if (o.kv_cache != KvCacheFormat::bf16) {
      out.yaml(fmt::format("  dtype: {}", kv_word(o.kv_cache, launch.engine)));
    }
    if (o.memory_fraction) {
      out.yaml(fmt::format("  free_gpu_memory_fraction: {}", exact(*o.memory_fraction)));
    }
    if (o.block_size > 0) out.yaml(fmt::format("  tokens_per_block: {}", o.block_size));
    if (!reuse) out.yaml("  enable_block_reuse: false");
  }
  if (pool.graph_max_batch > 0) {
    out.yaml("cuda_graph_config:");
    out.yaml(fmt::format("  max_batch_size: {}", pool.graph_max_batch));
  }
  if (o.num_speculative_tokens > 0) {
    out.yaml("speculative_config:");
    out.yaml("  decoding_type: MTP");
    out.yaml(fmt::format("  num_nextn_predict_layers: {}", o.num_speculative_tokens));
  }
}

Options options_of(const ServingLaunch& launch, const LaunchedPool& pool, bool dynamo) {
  Options out;
  if (launch.engine == EngineKind::vllm) vllm_options(launch, pool, dynamo, out);
  if (launch.engine == EngineKind::sglang) sglang_options(launch, pool, out);
  if (launch.engine == EngineKind::tensorrt_llm) tensorrt_llm_options(launch, pool, dynamo, out);
  return out;
}

// A word of a shell: quoted if it holds more than names and paths do.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-:@").find(c) != std::string_view::npos;
  });
  return plain ? word : "'" + replaced(word, "'", "'\\''") + "'";
}

std::string program_of(EngineKind engine, bool dynamo, const std::string& model) {
  const std::string name = quoted(model);
  if (engine == EngineKind::vllm) {
    return dynamo ? "python3 -m dynamo.vllm --model " + name : "vllm serve " + name;
  }
  if (engine == EngineKind::sglang) {
    return fmt::format("python3 -m {} --model-path {}",
                       dynamo ? "dynamo.sglang" : "sglang.launch_server", name);
  }
  return dynamo ? "python3 -m dynamo.trtllm --model-path " + name : "trtllm-serve " + name;
}

}  // namespace

std::vector<std::string> process_lines(const ServingLaunch& launch, const LaunchedPool& pool,
                                       const ServingProcess& process) {
  const Options options = options_of(launch, pool, process.dynamo);
  std::vector<std::string> lines;
  std::vector<std::string> words = options.words();
  if (!options.yaml_lines().empty()) {
    lines.push_back(fmt::format("cat > {}.yaml <<EOF", process.name));
    lines.insert(lines.end(), options.yaml_lines().begin(), options.yaml_lines().end());
    lines.emplace_back("EOF");
    words.push_back(fmt::format("{} {}.yaml",
                                process.dynamo ? "--extra-engine-args" : "--extra_llm_api_options",
                                process.name));
  }
  words.insert(words.end(), process.options.begin(), process.options.end());
  if (process.port > 0) {
    // vLLM listens on all addresses by itself.
    const char* host = launch.engine == EngineKind::vllm ? "" : "--host 0.0.0.0 ";
    words.push_back(fmt::format("{}--port {}", host, process.port));
  }
  std::string start = fmt::format("{}", fmt::join(process.before, " "));
  if (!start.empty()) start += " ";
  lines.push_back(start + program_of(launch.engine, process.dynamo, launch.model) + " \\");
  for (std::size_t i = 0; i < words.size(); ++i) {
    lines.push_back("  " + words[i] + (i + 1 < words.size() ? " \\" : ""));
  }
  return lines;
}

}  // namespace meshwright::interop
