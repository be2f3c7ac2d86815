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
constexpr std::string_view kIndexerFormat =
    "format of a sparse attention's indexer: models with one are refused";
constexpr std::string_view kState =
    "format of a linear attention's state: models with one are refused";
constexpr std::string_view kRequests =
    "what a request may ask for and how answers are checked; tokens stay the same";
constexpr std::string_view kStatedAcceptance =
    "which drafts are accepted: their share is stated with the load";
constexpr std::string_view kEviction =
    "which blocks of the cache go first: the share of prompts that it holds is stated";
constexpr std::string_view kPlacedExperts =
    "which rank holds an expert: tokens are counted as even over experts";
constexpr std::string_view kOnlyBalanced = "changes nothing where experts are not copied";
constexpr std::string_view kOnlyOverlap = "changes nothing where batches do not overlap";
constexpr std::string_view kOnlyHostCache = "changes nothing without a cache in the host's memory";
constexpr std::string_view kRouter = "names and events of Dynamo's services";
constexpr std::string_view kTransport =
    "transport of the cache between pools: the cluster's links are used";
// Why an option is refused.
constexpr std::string_view kCut = "prompts that one step may cut";
constexpr std::string_view kOrder = "order of waiting requests";
constexpr std::string_view kDelay = "requests wait for others before they start";
constexpr std::string_view kHead = "where the output layer's matrix lies, or its width";
constexpr std::string_view kOffload = "memory of the host holds weights or cache";
constexpr std::string_view kAdapters = "adapters add weights and kernels";
constexpr std::string_view kBalance = "experts are copied between ranks";
constexpr std::string_view kOverlap = "two batches overlap in one step";
constexpr std::string_view kWindows = "share of the cache for windowed layers";
constexpr std::string_view kPrefillContext = "prompts are cut over ranks";
constexpr std::string_view kModelCode = "another implementation of the model, with other kernels";
constexpr std::string_view kLessCompiled = "less is compiled than by the engine's default";
constexpr std::string_view kBytes = "cache stated in bytes or blocks, not as a share";

constexpr std::array kVllm{
    ServingOption{"model", Use::model},
    ServingOption{"tensor-parallel-size tp", Use::tensor},
    ServingOption{"pipeline-parallel-size pp", Use::pipeline},
    ServingOption{"data-parallel-size dp", Use::data},
    ServingOption{"data-parallel-address dpa data-parallel-rpc-port dpp data-parallel-backend dpb "
                  "master-addr master-port",
                  Use::nothing, kNodes},
    ServingOption{"data-parallel-size-local dpl nnodes", Use::other_nodes},
    ServingOption{"data-parallel-start-rank dpr data-parallel-rank dpn node-rank", Use::node_rank},
    ServingOption{"headless", Use::follower, {}, 0},
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
    ServingOption{"async-scheduling", Use::async_scheduling, {}, 0},
    ServingOption{"no-async-scheduling", Use::no_async_scheduling, {}, 0},
    ServingOption{"enable-chunked-prefill", Use::refused_if_off,
                  "switches off what the engine's file holds", 0},
    ServingOption{"no-enable-chunked-prefill", Use::refused,
                  "switches off what the engine's file holds", 0},
    ServingOption{"enable-eplb", Use::refused, kBalance, 0},
    ServingOption{"eplb-config", Use::refused, kBalance},
    ServingOption{"enable-dbo", Use::refused, kOverlap, 0},
    ServingOption{"cpu-offload-gb kv-offloading-size kv-offloading-backend", Use::refused_if_on,
                  kOffload},
    ServingOption{"swap-space", Use::nothing,
                  "room of the host for swapped sequences: the engine computes them again instead"},
    ServingOption{"enable-lora fully-sharded-loras", Use::refused, kAdapters, 0},
    ServingOption{"lora-modules max-loras max-lora-rank max-cpu-loras lora-dtype", Use::refused,
                  kAdapters},
    ServingOption{"attention-config.indexer-kv-dtype attention-config.use-fp4-indexer-cache",
                  Use::nothing, kIndexerFormat},
    ServingOption{"mamba-ssm-cache-dtype mamba-cache-dtype mamba-block-size mamba-cache-mode",
                  Use::nothing, kState},
    ServingOption{"max-num-partial-prefills max-long-partial-prefills "
                  "long-prefill-token-threshold",
                  Use::refused_if_on, kCut},
    ServingOption{"num-scheduler-steps", Use::refused_if_on, "steps between two schedulings"},
    ServingOption{"num-lookahead-slots", Use::refused_if_on, "blocks that are kept for drafts"},
    ServingOption{"scheduler-cls", Use::refused, "another scheduler"},
    ServingOption{"disable-hybrid-kv-cache-manager", Use::refused, kWindows, 0},
    ServingOption{"disable-sliding-window", Use::refused, kWindows, 0},
    ServingOption{"kv-sharing-fast-prefill", Use::refused, "layers of a prompt are left out", 0},
    ServingOption{"num-redundant-experts", Use::refused_if_on, kBalance},
    ServingOption{"enable-elastic-ep", Use::refused, kBalance, 0},
    ServingOption{"expert-placement-strategy", Use::nothing, kPlacedExperts},
    ServingOption{"dbo-decode-token-threshold dbo-prefill-token-threshold ubatch-size",
                  Use::nothing, kOnlyOverlap},
    ServingOption{"prefix-caching-hash-algo", Use::nothing, kHost},
    ServingOption{"dcp-kv-cache-interleave-size cp-kv-cache-interleave-size", Use::nothing,
                  kKernels},
    ServingOption{"calculate-kv-scales disable-cascade-attn", Use::nothing, kKernels, 0},
    ServingOption{"max-seq-len-to-capture", Use::nothing,
                  "of the engine's first scheduler; the one that is predicted passes over it"},
    ServingOption{"use-v2-block-manager multi-step-stream-outputs "
                  "disable-logprobs-during-spec-decoding",
                  Use::nothing,
                  "of the engine's first scheduler; the one that is predicted passes over it", 0},
    ServingOption{"tokenizer-pool-size tokenizer-pool-type", Use::nothing, kHost},
    ServingOption{"data-parallel-hybrid-lb dph data-parallel-external-lb dpe", Use::nothing, kNodes,
                  0},
    ServingOption{"disable-nccl-for-dp-synchronization", Use::nothing, kHost, 0},
    ServingOption{"kv-events-config", Use::nothing, kLog},
    ServingOption{"is-prefill-worker", Use::prefill_worker, {}, 0},
    ServingOption{"is-decode-worker", Use::decode_worker, {}, 0},
    ServingOption{"namespace endpoint endpoint-types migration-limit store-kv request-plane "
                  "event-plane dyn-tool-call-parser dyn-reasoning-parser custom-jinja-template "
                  "dyn-endpoint-types discovery-backend",
                  Use::nothing, kRouter},
    ServingOption{"use-vllm-tokenizer", Use::nothing, kText, 0},
    ServingOption{"host port api-key root-path uds ssl-keyfile ssl-certfile ssl-ca-certs "
                  "ssl-cert-reqs allowed-origins allowed-methods allowed-headers middleware "
                  "api-server-count h11-max-incomplete-event-size h11-max-header-count",
                  Use::nothing, kAddress},
    ServingOption{"allow-credentials disable-fastapi-docs enable-ssl-refresh", Use::nothing,
                  kAddress, 0},
    ServingOption{"enable-prompt-tokens-details enable-force-include-usage "
                  "return-tokens-as-token-ids exclude-tools-when-tool-choice-none "
                  "trust-request-chat-template enable-tokenizer-info-endpoint skip-tokenizer-init "
                  "enable-reasoning enable-prompt-embeds enable-request-id-headers",
                  Use::nothing, kRequests, 0},
    ServingOption{"tool-parser-plugin reasoning-parser-plugin logits-processors "
                  "logits-processor-pattern guided-decoding-backend structured-outputs-config "
                  "structured-outputs-config. logprobs-mode allowed-local-media-path "
                  "allowed-media-domains",
                  Use::nothing, kRequests},
    ServingOption{"served-model-name", Use::nothing, kName},
    ServingOption{"trust-remote-code enable-auto-tool-choice", Use::nothing, kText, 0},
    ServingOption{"reasoning-parser tool-call-parser tokenizer tokenizer-mode chat-template "
                  "chat-template-content-format response-role override-generation-config "
                  "generation-config default-chat-template-kwargs revision tokenizer-revision seed "
                  "limit-mm-per-prompt max-logprobs code-revision hf-token config-format",
                  Use::nothing, kText},
    ServingOption{"rope-scaling rope-theta", Use::positions},
    ServingOption{"hf-overrides hf-overrides.", Use::model_overrides},
    ServingOption{"model-impl", Use::refused_if_on, kModelCode},
    ServingOption{"load-format download-dir model-loader-extra-config safetensors-load-strategy "
                  "hf-config-path ignore-patterns pt-load-map-location "
                  "max-parallel-loading-workers",
                  Use::nothing, kLoading},
    ServingOption{"use-tqdm-on-load", Use::nothing, kLoading, 0},
    ServingOption{
        "disable-log-requests no-enable-log-requests disable-log-stats enable-log-requests "
        "disable-uvicorn-access-log enable-server-load-tracking enable-log-outputs "
        "enable-log-deltas cudagraph-metrics kv-cache-metrics enable-layerwise-nvtx-tracing "
        "enable-mfu-metrics",
        Use::nothing, kLog, 0},
    ServingOption{"uvicorn-log-level show-hidden-metrics-for-version otlp-traces-endpoint "
                  "collect-detailed-traces max-log-len log-config-file kv-cache-metrics-sample "
                  "disable-access-log-for-endpoints",
                  Use::nothing, kLog},
    ServingOption{"attention-backend moe-backend linear-backend attention-config attention-config. "
                  "kernel-config",
                  Use::nothing, kKernels},
    ServingOption{"compilation-config compilation-config. cc cc. O O.", Use::compilation},
    ServingOption{"O0 O1", Use::refused, kLessCompiled, 0},
    ServingOption{"O2 O3", Use::nothing, kKernels, 0},
    ServingOption{"disable-custom-all-reduce", Use::no_custom_all_reduce, {}, 0},
    ServingOption{"no-enable-flashinfer-autotune enable-flashinfer-autotune", Use::nothing,
                  kKernels, 0},
    ServingOption{"stream-interval", Use::nothing, kMessages},
    ServingOption{"prefill-schedule-interval", Use::refused, "prompts wait for every n-th step"},
    ServingOption{"distributed-executor-backend", Use::other_nodes},
    ServingOption{"disable-frontend-multiprocessing ray-workers-use-nsight", Use::nothing, kProcess,
                  0},
    ServingOption{
        "language-model-only interleave-mm-strings enable-multimodal-encoder-data-parallel "
        "disable-chunked-mm-input skip-mm-profiling",
        Use::nothing, kVision, 0},
    ServingOption{"mm-encoder-tp-mode mm-processor-cache-gb mm-processor-kwargs media-io-kwargs "
                  "mm-processor-cache-type mm-shm-cache-max-object-size-mb mm-encoder-attn-backend "
                  "video-pruning-rate",
                  Use::nothing, kVision},
    ServingOption{"scheduling-policy", Use::refused_if_on, "order of waiting requests"},
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
    ServingOption{"dist-init-addr nccl-init-addr", Use::nothing, kNodes},
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
                  "disaggregation-ib-device disaggregation-decode-polling-interval",
                  Use::nothing, kTransport},
    ServingOption{"disaggregation-decode-tp disaggregation-decode-dp disaggregation-prefill-pp",
                  Use::nothing, "sizes of the other pool, which its own command says"},
    ServingOption{"disaggregation-decode-enable-offload-kvcache", Use::refused, kOffload, 0},
    ServingOption{"num-reserved-decode-tokens max-queued-requests prefill-max-requests",
                  Use::refused, "limits of the queue that the scheduler's rule does not hold"},
    ServingOption{"prefill-round-robin-balance", Use::nothing, kRouter, 0},
    ServingOption{"config", Use::configuration},
    ServingOption{"enable-mixed-chunk", Use::refused, "prompts and decodes share a step", 0},
    ServingOption{"enable-two-batch-overlap", Use::refused, kOverlap, 0},
    ServingOption{"enable-single-batch-overlap", Use::refused, kOverlap, 0},
    ServingOption{"tbo-token-distribution-threshold", Use::nothing, kOnlyOverlap},
    ServingOption{"enable-nsa-prefill-context-parallel enable-dsa-prefill-context-parallel",
                  Use::refused, kPrefillContext, 0},
    ServingOption{"attn-cp-size attention-context-parallel-size moe-dp-size", Use::refused_if_on,
                  kPrefillContext},
    ServingOption{"enable-dp-lm-head enable-fp32-lm-head", Use::refused, kHead, 0},
    ServingOption{"enable-priority-scheduling schedule-low-priority-values-first", Use::refused,
                  kOrder, 0},
    ServingOption{"disable-hybrid-swa-memory", Use::refused, kWindows, 0},
    ServingOption{"disable-cuda-graph-padding", Use::refused,
                  "steps that are no captured size run without a graph", 0},
    ServingOption{"enable-deterministic-inference", Use::refused,
                  "kernels whose sums do not depend on the batch are slower", 0},
    ServingOption{"torchao-config", Use::refused, "is no known format of weights"},
    ServingOption{"eplb-algorithm eplb-rebalance-num-iterations eplb-rebalance-layers-per-chunk "
                  "eplb-min-rebalancing-utilization-threshold expert-distribution-recorder-mode "
                  "expert-distribution-recorder-buffer-size",
                  Use::nothing, kOnlyBalanced},
    ServingOption{"enable-expert-distribution-metrics", Use::nothing, kLog, 0},
    ServingOption{"init-expert-location ep-dispatch-algorithm", Use::refused, kBalance},
    ServingOption{"deepep-config", Use::nothing, kKernels},
    ServingOption{"radix-eviction-policy", Use::nothing, kEviction},
    ServingOption{"enable-eplb", Use::refused, kBalance, 0},
    ServingOption{"ep-num-redundant-experts moe-dense-tp-size", Use::refused_if_on, kBalance},
    ServingOption{"enable-lora enable-hierarchical-cache", Use::refused, kOffload, 0},
    ServingOption{"lora-paths cpu-offload-gb hicache-ratio hicache-size offload-group-size "
                  "offload-num-in-group offload-prefetch-step",
                  Use::refused_if_on, kOffload},
    ServingOption{"hicache-write-policy hicache-io-backend hicache-mem-layout "
                  "hicache-storage-backend hicache-storage-prefetch-policy "
                  "hicache-storage-backend-extra-config",
                  Use::nothing, kOnlyHostCache},
    ServingOption{"max-loras-per-batch max-loaded-loras max-lora-rank lora-target-modules "
                  "lora-backend lora-eviction-policy",
                  Use::refused, kAdapters},
    ServingOption{"mamba-ssm-dtype max-mamba-cache-size mamba-full-memory-ratio", Use::nothing,
                  kState},
    ServingOption{"speculative-accept-threshold-single speculative-accept-threshold-acc "
                  "speculative-token-map",
                  Use::nothing, kStatedAcceptance},
    ServingOption{"speculative-draft-model-revision speculative-draft-load-format "
                  "speculative-draft-model-quantization",
                  Use::nothing, "the draft model is counted as one layer of the model"},
    ServingOption{"quantization-param-path", Use::nothing, kKernels},
    ServingOption{"swa-full-tokens-ratio", Use::refused, kWindows},
    ServingOption{"schedule-conservativeness", Use::refused_if_on,
                  "share of the output that is reserved"},
    ServingOption{"schedule-policy load-balance-method", Use::nothing,
                  "order of waiting requests: means hardly move"},
    ServingOption{"disable-overlap-schedule", Use::refused, "host and device take turns", 0},
    ServingOption{"host port api-key", Use::nothing, kAddress},
    ServingOption{"served-model-name", Use::nothing, kName},
    ServingOption{"nccl-port fastapi-root-path ssl-keyfile ssl-certfile ssl-ca-certs "
                  "ssl-keyfile-password admin-api-key base-gpu-id gpu-id-step dist-timeout",
                  Use::nothing, kAddress},
    ServingOption{"grpc-mode", Use::nothing, kAddress, 0},
    ServingOption{"trust-remote-code skip-server-warmup allow-auto-truncate skip-tokenizer-init",
                  Use::nothing, kText, 0},
    ServingOption{"reasoning-parser tool-call-parser tokenizer-path tokenizer-mode chat-template "
                  "random-seed revision sampling-defaults completion-template "
                  "hf-chat-template-name preferred-sampling-params tool-server",
                  Use::nothing, kText},
    ServingOption{"json-model-override-args", Use::model_overrides},
    ServingOption{"model-impl", Use::refused_if_on, kModelCode},
    ServingOption{"grammar-backend constrained-json-whitespace-pattern file-storage-path",
                  Use::nothing, kRequests},
    ServingOption{"constrained-json-disable-any-whitespace enable-custom-logit-processor "
                  "enable-return-hidden-states stream-output incremental-streaming-output",
                  Use::nothing, kRequests, 0},
    ServingOption{"load-format download-dir model-loader-extra-config weight-loader-prefetch-num-"
                  "threads weight-version custom-weight-loader load-watch-interval model-checksum",
                  Use::nothing, kLoading},
    ServingOption{"weight-loader-disable-mmap weight-loader-prefetch-checkpoints "
                  "delete-ckpt-after-loading enable-p2p-check disable-outlines-disk-cache",
                  Use::nothing, kLoading, 0},
    ServingOption{"log-level log-level-http decode-log-interval watchdog-timeout "
                  "soft-watchdog-timeout log-requests-level log-requests-format crash-dump-folder "
                  "bucket-time-to-first-token bucket-inter-token-latency "
                  "bucket-e2e-request-latency otlp-traces-endpoint kv-events-config "
                  "gc-warning-threshold-secs",
                  Use::nothing, kLog},
    ServingOption{"enable-metrics log-requests enable-cache-report disable-log-stats "
                  "show-time-cost collect-tokens-histogram enable-trace sleep-on-idle "
                  "enable-metrics-for-all-schedulers export-metrics-to-file "
                  "enable-request-time-stats-logging enable-profile-cuda-graph "
                  "enable-layerwise-nvtx-marker",
                  Use::nothing, kLog, 0},
    ServingOption{"namespace endpoint endpoint-types migration-limit store-kv request-plane "
                  "event-plane dyn-tool-call-parser dyn-reasoning-parser custom-jinja-template "
                  "discovery-backend",
                  Use::nothing, kRouter},
    ServingOption{"use-sglang-tokenizer", Use::nothing, kText, 0},
    ServingOption{"attention-backend prefill-attention-backend decode-attention-backend "
                  "moe-runner-backend nsa-prefill-backend nsa-decode-backend fp8-gemm-backend "
                  "fp4-gemm-backend sampling-backend mamba-backend fp8-gemm-runner-backend "
                  "fp4-gemm-runner-backend dsa-prefill-backend dsa-decode-backend "
                  "linear-attn-backend triton-attention-num-kv-splits torch-compile-max-bs "
                  "flashinfer-mxfp4-moe-precision",
                  Use::nothing, kKernels},
    ServingOption{"disable-flashinfer-autotune disable-shared-experts-fusion enable-torch-compile "
                  "triton-attention-reduce-in-fp32 flashinfer-mla-disable-ragged "
                  "disable-chunked-prefix-cache enable-nan-detection",
                  Use::nothing, kKernels, 0},
    ServingOption{
        "enable-flashinfer-allreduce-fusion enable-aiter-allreduce-fusion enable-symm-mem "
        "enable-nccl-nvls enable-torch-symm-mem enable-mscclpp enable-fused-qk-norm-rope "
        "enable-fused-moe-sum-all-reduce",
        Use::nothing, kFusion, 0},
    ServingOption{"disable-custom-all-reduce", Use::no_custom_all_reduce, {}, 0},
    ServingOption{"stream-interval", Use::nothing, kMessages},
    ServingOption{"scheduler-recv-interval", Use::nothing, kPolling},
    ServingOption{"num-continuous-decode-steps", Use::nothing, kPolling},
    ServingOption{"tokenizer-worker-num detokenizer-worker-num", Use::nothing, kHost},
    ServingOption{"enable-tokenizer-batch-encode disable-tokenizer-batch-decode "
                  "enable-dynamic-batch-tokenizer",
                  Use::nothing, kHost, 0},
    ServingOption{"mamba-scheduler-strategy dynamic-batch-tokenizer-batch-size "
                  "dynamic-batch-tokenizer-batch-timeout",
                  Use::nothing, kHost},
    ServingOption{"mm-attention-backend mm-max-concurrent-calls mm-per-request-timeout "
                  "limit-mm-data-per-request mm-process-config",
                  Use::nothing, kVision},
    ServingOption{"enable-multimodal disable-fast-image-processor keep-mm-feature-on-device "
                  "enable-broadcast-mm-inputs-process mm-enable-dp-encoder",
                  Use::nothing, kVision, 0},
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
    ServingOption{"kv-cache-config.max-tokens kv-cache-config.max-gpu-total-bytes", Use::refused,
                  kBytes},
    ServingOption{"kv-cache-config.host-cache-size kv-cache-config.use-uvm", Use::refused_if_on,
                  kOffload},
    ServingOption{"kv-cache-config.max-attention-window kv-cache-config.sink-token-length "
                  "kv-cache-config.cross-kv-cache-fraction",
                  Use::refused, kWindows},
    ServingOption{"kv-cache-config.event-buffer-max-size", Use::nothing, kLog},
    ServingOption{"kv-cache-config.enable-partial-reuse kv-cache-config.copy-on-partial-reuse",
                  Use::nothing, kEviction, 0},
    ServingOption{"kv-cache-config.mamba-ssm-cache-dtype", Use::nothing, kState},
    ServingOption{"scheduler-config.capacity-scheduler-policy", Use::refused_if_on,
                  "what is admitted when the cache may become full"},
    ServingOption{"scheduler-config.context-chunking-policy", Use::nothing,
                  "of prompts that are cut, which they are not"},
    ServingOption{"batch-wait-timeout-ms batch-wait-timeout-iters batch-wait-max-tokens-ratio",
                  Use::refused_if_on, kDelay},
    ServingOption{"max-beam-width", Use::refused_if_on, "several answers of a request"},
    ServingOption{"max-input-len", Use::nothing, "a limit of prompts; the load states them"},
    ServingOption{"enable-min-latency enable-lm-head-tp-in-adp", Use::refused, kHead, 0},
    ServingOption{"allreduce-strategy", Use::refused_if_on, "another algorithm of all-reduces"},
    ServingOption{"max-batch-size", Use::max_num_seqs},
    ServingOption{"max-num-tokens", Use::max_num_batched_tokens},
    ServingOption{"max-seq-len", Use::max_model_len},
    ServingOption{"kv-cache-config.tokens-per-block", Use::block_size},
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
    ServingOption{"speculative-config.speculative-model-dir speculative-config.speculative-model",
                  Use::nothing, "the draft model is counted as one layer of the model"},
    ServingOption{"extra-llm-api-options extra-engine-args config", Use::configuration},
    ServingOption{"server-role disaggregation-mode", Use::role},
    ServingOption{"speculative-config.eagle3-one-model speculative-config.mtp-eagle-one-model "
                  "speculative-config.use-relaxed-acceptance-for-thinking",
                  Use::nothing, kStatedAcceptance, 0},
    ServingOption{"speculative-config.relaxed-topk speculative-config.relaxed-delta", Use::nothing,
                  kStatedAcceptance},
    ServingOption{"cache-transceiver-config. cache-transceiver-max-num-tokens", Use::nothing,
                  kTransport},
    ServingOption{"moe-config.backend attn-backend moe-backend enable-autotuner "
                  "moe-config.max-num-tokens nvfp4-gemm-config. torch-compile-config.",
                  Use::nothing, kKernels},
    ServingOption{"moe-config.disable-finalize-fusion", Use::nothing, kFusion, 0},
    ServingOption{"guided-decoding-backend", Use::nothing, kRequests},
    ServingOption{"gather-generation-logits gather-context-logits skip-tokenizer-init",
                  Use::nothing, kRequests, 0},
    ServingOption{"garbage-collection-gen0-threshold", Use::nothing, kHost},
    ServingOption{"load-format checkpoint-format checkpoint-loader", Use::nothing, kLoading},
    ServingOption{"orchestrator-type", Use::nothing, kProcess},
    ServingOption{"fail-fast-on-attention-window-too-large", Use::nothing,
                  "refuses requests that are too long; the load states them", 0},
    ServingOption{"return-perf-metrics enable-layerwise-nvtx-marker publish-events-and-metrics",
                  Use::nothing, kLog, 0},
    ServingOption{"perf-metrics-max-requests otlp-traces-endpoint", Use::nothing, kLog},
    ServingOption{"revision tokenizer-mode hf-revision", Use::nothing, kText},
    ServingOption{"namespace endpoint endpoint-types migration-limit store-kv request-plane "
                  "event-plane dyn-tool-call-parser dyn-reasoning-parser custom-jinja-template "
                  "discovery-backend disaggregation-strategy encode-endpoint modality",
                  Use::nothing, kRouter},
    ServingOption{"moe-config.load-balancer", Use::refused, kBalance},
    ServingOption{"attention-dp-config.", Use::nothing,
                  "balance between data ranks: the means of equal ranks are predicted"},
    ServingOption{"stream-interval", Use::nothing, kMessages},
    ServingOption{"disable-overlap-scheduler", Use::refused_but_in_prefill,
                  "host and device take turns", 0},
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
    QuantizationWord{"modelopt", WeightFormat::fp8},
    QuantizationWord{"modelopt_fp8", WeightFormat::fp8},
    QuantizationWord{"fp8_per_block", WeightFormat::fp8_block, true},
    QuantizationWord{"deepseek_v4_fp8", WeightFormat::fp8_block},
    QuantizationWord{"fp8", WeightFormat::fp8_block, false, true},
    QuantizationWord{"FP8_BLOCK_SCALES", WeightFormat::fp8_block, false, false, true},
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

std::optional<WeightFormat> quantized_format(std::string_view word) {
  for (const QuantizationWord& one : kQuantizations) {
    if (lower_case(one.word) == lower_case(word)) return one.format;
  }
  return std::nullopt;
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
