// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_options.h"

#include <algorithm>
#include <array>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

using Use = OptionUse;

// Why an option changes no predicted number.
constexpr std::string_view kAddress = "address and transport of the server";
constexpr std::string_view kName = "a name that clients use";
constexpr std::string_view kText = "how text is parsed and templated; tokens stay the same";
constexpr std::string_view kLoading = "how weights are loaded, before the first request";
constexpr std::string_view kLog = "logs, metrics and watchdogs";
constexpr std::string_view kKernels =
    "choice of kernels: step times are fitted over launch commands that choose them; bytes stay";
constexpr std::string_view kFusion =
    "fusion of kernels: step times are fitted over launch commands with it; bytes stay";
constexpr std::string_view kMessages =
    "tokens of a message to the client: TPOT is a mean over the request";
constexpr std::string_view kPolling =
    "steps between looks at new requests: TTFT moves by so many steps at most; TPOT stays";
constexpr std::string_view kHost = "work of the host, which the engine's fitted step contains";
constexpr std::string_view kProcess = "how worker processes are started";
constexpr std::string_view kVision = "the encoder of images; requests here are text";
constexpr std::string_view kGraphPart = "graphs of prompts, which are never captured whole";
constexpr std::string_view kNodes = "address of the nodes; their number follows from the sizes";
constexpr std::string_view kIndexer =
    "format of a sparse attention's indexer: models with one are refused";
constexpr std::string_view kState =
    "format of a linear attention's state: models with one are refused";
// Why an option is refused.
constexpr std::string_view kOffload = "memory of the host holds weights or cache";
constexpr std::string_view kAdapters = "adapters add weights and kernels";
constexpr std::string_view kBalance = "experts are copied between ranks";
constexpr std::string_view kOverlap = "two batches overlap in one step";
constexpr std::string_view kWindows = "share of the cache for windowed layers";
constexpr std::string_view kPrefillContext = "prompts are cut over ranks";
constexpr std::string_view kBytes = "cache stated in bytes or blocks, not as a share";

constexpr std::array kVllm{
    ServingOption{"model", Use::model},
    ServingOption{"tensor-parallel-size tp", Use::tensor},
    ServingOption{"pipeline-parallel-size pp", Use::pipeline},
    ServingOption{"data-parallel-size dp", Use::data},
    ServingOption{
        "data-parallel-size-local dpl data-parallel-address dpa data-parallel-rpc-port dpp "
        "data-parallel-start-rank dpr data-parallel-rank data-parallel-backend dpb nnodes "
        "node-rank master-addr master-port",
        Use::nothing, kNodes},
    ServingOption{"enable-expert-parallel ep", Use::expert_switch, {}, 0},
    ServingOption{"all2all-backend", Use::exchange},
    ServingOption{"decode-context-parallel-size dcp", Use::context},
    ServingOption{"prefill-context-parallel-size pcp", Use::refused_if_on, kPrefillContext},
    ServingOption{"gpu-memory-utilization", Use::memory_fraction},
    ServingOption{"kv-cache-memory-bytes num-gpu-blocks-override", Use::refused, kBytes},
    ServingOption{"max-num-seqs", Use::max_num_seqs},
    ServingOption{"max-num-batched-tokens", Use::max_num_batched_tokens},
    ServingOption{"max-model-len", Use::max_model_len},
    ServingOption{"block-size", Use::block_size},
    ServingOption{"max-cudagraph-capture-size", Use::graph_max_batch},
    ServingOption{"cudagraph-capture-sizes cuda-graph-sizes", Use::graph_sizes, {}, 1000},
    ServingOption{"enforce-eager", Use::eager, {}, 0},
    ServingOption{"no-enforce-eager", Use::not_eager, {}, 0},
    ServingOption{"kv-cache-dtype", Use::kv_cache},
    ServingOption{"quantization q", Use::quantization},
    ServingOption{"dtype", Use::data_type},
    ServingOption{"enable-prefix-caching", Use::prefix_caching, {}, 0},
    ServingOption{"no-enable-prefix-caching", Use::no_prefix_caching, {}, 0},
    ServingOption{"speculative-config", Use::speculation},
    ServingOption{"kv-transfer-config", Use::transfer},
    ServingOption{"disaggregation-mode", Use::role},
    ServingOption{"config", Use::configuration},
    ServingOption{"enable-chunked-prefill async-scheduling", Use::nothing,
                  "the engine's default, which its file holds", 0},
    ServingOption{"no-enable-chunked-prefill no-async-scheduling", Use::refused,
                  "switches off what the engine's file holds", 0},
    ServingOption{"enable-eplb", Use::refused, kBalance, 0},
    ServingOption{"eplb-config", Use::refused, kBalance},
    ServingOption{"enable-dbo", Use::refused, kOverlap, 0},
    ServingOption{"cpu-offload-gb swap-space kv-offloading-size", Use::refused_if_on, kOffload},
    ServingOption{"enable-lora", Use::refused, kAdapters, 0},
    ServingOption{"lora-modules max-loras max-lora-rank", Use::refused, kAdapters},
    ServingOption{"attention-config.indexer-kv-dtype attention-config.use-fp4-indexer-cache",
                  Use::nothing, kIndexer},
    ServingOption{"mamba-ssm-cache-dtype mamba-cache-dtype", Use::nothing, kState},
    ServingOption{"host port api-key root-path uds ssl-keyfile ssl-certfile allowed-origins "
                  "middleware api-server-count",
                  Use::nothing, kAddress},
    ServingOption{"served-model-name", Use::nothing, kName},
    ServingOption{"trust-remote-code enable-auto-tool-choice", Use::nothing, kText, 0},
    ServingOption{"reasoning-parser tool-call-parser tokenizer tokenizer-mode chat-template "
                  "chat-template-content-format response-role override-generation-config "
                  "generation-config default-chat-template-kwargs revision tokenizer-revision seed "
                  "limit-mm-per-prompt max-logprobs hf-overrides",
                  Use::nothing, kText},
    ServingOption{"load-format download-dir model-loader-extra-config safetensors-load-strategy "
                  "hf-config-path",
                  Use::nothing, kLoading},
    ServingOption{
        "disable-log-requests no-enable-log-requests disable-log-stats enable-log-requests "
        "disable-uvicorn-access-log enable-server-load-tracking",
        Use::nothing, kLog, 0},
    ServingOption{"uvicorn-log-level", Use::nothing, kLog},
    ServingOption{"attention-backend moe-backend linear-backend attention-config attention-config. "
                  "compilation-config compilation-config. O kernel-config",
                  Use::nothing, kKernels},
    ServingOption{"disable-custom-all-reduce", Use::no_custom_all_reduce, {}, 0},
    ServingOption{"no-enable-flashinfer-autotune enable-flashinfer-autotune", Use::nothing,
                  kKernels, 0},
    ServingOption{"stream-interval", Use::nothing, kMessages},
    ServingOption{"prefill-schedule-interval", Use::refused, "prompts wait for every n-th step"},
    ServingOption{"distributed-executor-backend", Use::nothing, kProcess},
    ServingOption{"headless", Use::nothing, kProcess, 0},
    ServingOption{"language-model-only", Use::nothing, kVision, 0},
    ServingOption{"mm-encoder-tp-mode mm-processor-cache-gb", Use::nothing, kVision},
    ServingOption{"scheduling-policy", Use::refused_if_on, "order of waiting requests"},
};

constexpr std::array kSglang{
    ServingOption{"model-path model", Use::model},
    ServingOption{"tensor-parallel-size tp-size tp", Use::tensor},
    ServingOption{"pipeline-parallel-size pp-size pp", Use::pipeline},
    ServingOption{"data-parallel-size dp-size dp", Use::data},
    ServingOption{"expert-parallel-size ep-size ep", Use::expert_ranks},
    ServingOption{"enable-dp-attention", Use::data_attention, {}, 0},
    ServingOption{"nnodes node-rank dist-init-addr nccl-init-addr", Use::nothing, kNodes},
    ServingOption{"moe-a2a-backend", Use::exchange},
    ServingOption{"deepep-mode", Use::exchange},
    ServingOption{"mem-fraction-static", Use::memory_fraction},
    ServingOption{"max-running-requests", Use::max_num_seqs},
    ServingOption{"chunked-prefill-size", Use::max_num_batched_tokens},
    ServingOption{"max-prefill-tokens", Use::nothing,
                  "tokens of a batch of prompts; the chunk of a prompt limits the step first"},
    ServingOption{"max-total-tokens", Use::refused, kBytes},
    ServingOption{"context-length", Use::max_model_len},
    ServingOption{"page-size", Use::block_size},
    ServingOption{"cuda-graph-max-bs cuda-graph-max-bs-decode", Use::graph_max_batch},
    ServingOption{"cuda-graph-bs cuda-graph-bs-decode", Use::graph_sizes, {}, 1000},
    ServingOption{"disable-cuda-graph", Use::eager, {}, 0},
    ServingOption{"kv-cache-dtype", Use::kv_cache},
    ServingOption{"quantization", Use::quantization},
    ServingOption{"dtype", Use::data_type},
    ServingOption{"disable-radix-cache", Use::no_prefix_caching, {}, 0},
    ServingOption{"speculative-algorithm speculative-algo", Use::speculation_method},
    ServingOption{"speculative-num-draft-tokens", Use::draft_tokens},
    ServingOption{"speculative-num-steps", Use::nothing,
                  "steps of the draft: the number of its tokens is read"},
    ServingOption{"speculative-eagle-topk", Use::nothing,
                  "branches of the draft: the number of its tokens is read"},
    ServingOption{"speculative-draft-model-path speculative-draft-model", Use::nothing,
                  "the draft model is counted as one layer of the model"},
    ServingOption{"speculative-draft-attention-backend speculative-attention-mode "
                  "speculative-moe-runner-backend speculative-moe-a2a-backend",
                  Use::nothing, kKernels},
    ServingOption{"disaggregation-mode", Use::role},
    ServingOption{"disaggregation-transfer-backend disaggregation-bootstrap-port "
                  "disaggregation-ib-device",
                  Use::nothing,
                  "transport of the cache between pools: the cluster's links are used"},
    ServingOption{"config", Use::configuration},
    ServingOption{"enable-mixed-chunk", Use::refused, "prompts and decodes share a step", 0},
    ServingOption{"enable-two-batch-overlap", Use::refused, kOverlap, 0},
    ServingOption{"enable-eplb", Use::refused, kBalance, 0},
    ServingOption{"ep-num-redundant-experts moe-dense-tp-size", Use::refused_if_on, kBalance},
    ServingOption{"enable-lora enable-hierarchical-cache", Use::refused, kOffload, 0},
    ServingOption{"lora-paths cpu-offload-gb hicache-ratio hicache-size", Use::refused_if_on,
                  kOffload},
    ServingOption{"mamba-ssm-dtype", Use::nothing, kState},
    ServingOption{"swa-full-tokens-ratio", Use::refused, kWindows},
    ServingOption{"schedule-conservativeness", Use::refused_if_on,
                  "share of the output that is reserved"},
    ServingOption{"schedule-policy load-balance-method", Use::nothing,
                  "order of waiting requests: means hardly move"},
    ServingOption{"disable-overlap-schedule", Use::refused, "host and device take turns", 0},
    ServingOption{"host port api-key", Use::nothing, kAddress},
    ServingOption{"served-model-name", Use::nothing, kName},
    ServingOption{"trust-remote-code skip-server-warmup", Use::nothing, kText, 0},
    ServingOption{"reasoning-parser tool-call-parser tokenizer-path tokenizer-mode chat-template "
                  "random-seed revision json-model-override-args sampling-defaults",
                  Use::nothing, kText},
    ServingOption{"load-format download-dir model-loader-extra-config weight-loader-prefetch-num-"
                  "threads",
                  Use::nothing, kLoading},
    ServingOption{"log-level log-level-http decode-log-interval watchdog-timeout", Use::nothing,
                  kLog},
    ServingOption{"enable-metrics log-requests enable-cache-report disable-log-stats", Use::nothing,
                  kLog, 0},
    ServingOption{"attention-backend prefill-attention-backend decode-attention-backend "
                  "moe-runner-backend nsa-prefill-backend nsa-decode-backend fp8-gemm-backend "
                  "fp4-gemm-backend sampling-backend mamba-backend",
                  Use::nothing, kKernels},
    ServingOption{"disable-flashinfer-autotune disable-shared-experts-fusion", Use::nothing,
                  kKernels, 0},
    ServingOption{
        "enable-flashinfer-allreduce-fusion enable-aiter-allreduce-fusion enable-symm-mem "
        "enable-nccl-nvls enable-torch-symm-mem",
        Use::nothing, kFusion, 0},
    ServingOption{"disable-custom-all-reduce", Use::no_custom_all_reduce, {}, 0},
    ServingOption{"stream-interval", Use::nothing, kMessages},
    ServingOption{"scheduler-recv-interval", Use::nothing, kPolling},
    ServingOption{"num-continuous-decode-steps", Use::nothing, kPolling},
    ServingOption{"tokenizer-worker-num detokenizer-worker-num", Use::nothing, kHost},
    ServingOption{"mamba-scheduler-strategy", Use::nothing, kHost},
    ServingOption{"mm-attention-backend", Use::nothing, kVision},
    ServingOption{"disable-piecewise-cuda-graph enable-piecewise-cuda-graph", Use::nothing,
                  kGraphPart, 0},
};

// Options of trtllm-serve, and keys of its YAML.
constexpr std::array kTensorRtLlm{
    ServingOption{"model model-path", Use::model},
    ServingOption{"tp-size tensor-parallel-size", Use::tensor},
    ServingOption{"pp-size pipeline-parallel-size", Use::pipeline},
    ServingOption{"ep-size moe-expert-parallel-size", Use::expert_ranks},
    ServingOption{"moe-cluster-parallel-size", Use::refused_if_on, "clusters of experts"},
    ServingOption{"cp-size context-parallel-size", Use::refused_if_on, kPrefillContext},
    ServingOption{"enable-attention-dp", Use::data_attention, {}, 0},
    ServingOption{"kv-cache-free-gpu-memory-fraction kv-cache-config.free-gpu-memory-fraction "
                  "free-gpu-memory-fraction",
                  Use::memory_fraction},
    ServingOption{"kv-cache-config.max-tokens", Use::refused, kBytes},
    ServingOption{"max-batch-size", Use::max_num_seqs},
    ServingOption{"max-num-tokens", Use::max_num_batched_tokens},
    ServingOption{"max-seq-len", Use::max_model_len},
    ServingOption{"kv-cache-config.tokens-per-block", Use::block_size},
    ServingOption{"cuda-graph-config.max-batch-size", Use::graph_max_batch},
    ServingOption{"cuda-graph-config.batch-sizes", Use::graph_sizes, {}, 1000},
    ServingOption{"cuda-graph-config.enable-padding", Use::nothing,
                  "graphs pad to the next captured size, as the engine's file holds", 0},
    ServingOption{"kv-cache-config.dtype kv-cache-dtype", Use::kv_cache},
    ServingOption{"quantization", Use::quantization},
    ServingOption{"dtype", Use::data_type},
    ServingOption{"kv-cache-config.enable-block-reuse", Use::prefix_caching, {}, 0},
    ServingOption{"speculative-config.decoding-type", Use::speculation_method},
    ServingOption{"speculative-config.num-nextn-predict-layers speculative-config.max-draft-len",
                  Use::draft_layers},
    ServingOption{"speculative-config.speculative-model-dir speculative-config.speculative-model",
                  Use::nothing, "the draft model is counted as one layer of the model"},
    ServingOption{"extra-llm-api-options extra-engine-args config", Use::configuration},
    ServingOption{"server-role disaggregation-mode", Use::role},
    ServingOption{"cache-transceiver-config.", Use::nothing,
                  "transport of the cache between pools: the cluster's links are used"},
    ServingOption{"moe-config.backend attn-backend enable-autotuner", Use::nothing, kKernels},
    ServingOption{"moe-config.load-balancer", Use::refused, kBalance},
    ServingOption{"attention-dp-config.", Use::nothing,
                  "balance between data ranks: the means of equal ranks are predicted"},
    ServingOption{"stream-interval", Use::nothing, kMessages},
    ServingOption{"disable-overlap-scheduler", Use::refused_if_on, "host and device take turns", 0},
    ServingOption{"enable-chunked-prefill enable-chunked-context", Use::refused_if_on,
                  "prompts are cut, which the engine's file does not hold", 0},
    ServingOption{"num-postprocess-workers", Use::nothing, kHost},
    ServingOption{"host port", Use::nothing, kAddress},
    ServingOption{"served-model-name", Use::nothing, kName},
    ServingOption{"trust-remote-code", Use::nothing, kText, 0},
    ServingOption{"custom-tokenizer tokenizer reasoning-parser tool-parser chat-template "
                  "custom-module-dirs",
                  Use::nothing, kText},
    ServingOption{"backend", Use::refused_if_on, "a backend other than PyTorch's"},
    ServingOption{"gpus-per-node", Use::nothing, kNodes},
    ServingOption{"log-level print-iter-log enable-iter-perf-stats enable-iter-req-stats "
                  "metadata-server-config-file",
                  Use::nothing, kLog},
};

bool has_name(std::string_view names, std::string_view name) {
  const std::vector<std::string> all = split_words(names);
  return std::any_of(all.begin(), all.end(), [&](const std::string& one) {
    return one.ends_with('.') ? name.starts_with(one) : one == name;
  });
}

}  // namespace

std::span<const ServingOption> serving_options(EngineKind engine) {
  if (engine == EngineKind::vllm) return kVllm;
  if (engine == EngineKind::sglang) return kSglang;
  return kTensorRtLlm;
}

const ServingOption* serving_option(EngineKind engine, std::string_view name) {
  for (const ServingOption& option : serving_options(engine)) {
    if (has_name(option.names, name)) return &option;
  }
  return nullptr;
}

std::string spelled(std::string_view key) {
  const std::size_t begin = key.find_first_not_of('-');
  std::string name(begin == std::string_view::npos ? std::string_view{} : key.substr(begin));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace meshwright::interop
