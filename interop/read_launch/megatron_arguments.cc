// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/megatron_arguments.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr auto kOn = ArgumentKind::on, kOff = ArgumentKind::off, kOne = ArgumentKind::one,
               kMany = ArgumentKind::many;
constexpr auto kRead = ArgumentMeaning::read, kHarmless = ArgumentMeaning::harmless,
               kUnmodelled = ArgumentMeaning::unmodelled;
constexpr auto kNow = ArgumentAge::now, kLater = ArgumentAge::later,
               kEarlier = ArgumentAge::earlier;

// Options that are alike, without their dashes.
struct Group {
  ArgumentMeaning meaning;
  ArgumentKind kind;
  ArgumentAge age;
  std::string_view names;
};

// clang-format off
constexpr Group kGroups[] = {
    {kRead, kOn, kNow,
     "account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split "
     "accumulate-allreduce-grads-in-fp32 add-qkv-bias bf16 checkpoint-activations "
     "cross-entropy-loss-fusion delay-wgrad-compute enable-cuda-graph external-cuda-graph fp16 "
     "fp8-param-gather grad-reduce-in-bf16 group-query-attention mock-data moe-enable-deepep "
     "moe-grouped-gemm moe-router-enable-expert-bias moe-shared-expert-overlap multi-latent-attention "
     "optimizer-cpu-offload overlap-grad-reduce overlap-moe-expert-parallel-comm overlap-param-gather "
     "qk-layernorm quick-geglu recompute-activations sequence-parallel squared-relu swiglu te-rng-tracker "
     "tp-comm-overlap untie-embeddings-and-output-weights use-custom-fsdp use-distributed-optimizer "
     "use-flash-attn use-legacy-models use-mcore-models use-megatron-fsdp use-precision-aware-optimizer "
     "use-rotary-position-embeddings use-torch-fsdp2 use-tp-pp-dp-mapping"},
    {kRead, kOff, kNow,
     "disable-bias-linear no-overlap-p2p-communication no-position-embedding "
     "no-scatter-gather-tensors-in-pipeline torch-fsdp2-no-reshard-after-forward"},
    {kRead, kOne, kNow,
     "attention-backend attention-dropout ckpt-format context-parallel-size cpu-offloading-num-layers "
     "cross-entropy-fusion-impl cuda-graph-impl cuda-graph-scope data-parallel-sharding-strategy "
     "decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers exp-avg-dtype exp-avg-sq-dtype "
     "expert-model-parallel-size expert-tensor-parallel-size ffn-hidden-size fp8-format fp8-recipe "
     "global-batch-size hidden-dropout hidden-size kv-channels kv-lora-rank main-grads-dtype "
     "make-vocab-size-divisible-by max-position-embeddings micro-batch-size moe-expert-capacity-factor "
     "moe-ffn-hidden-size moe-layer-freq moe-router-group-topk moe-router-num-groups moe-router-topk "
     "moe-shared-expert-intermediate-size moe-token-dispatcher-type mtp-num-layers normalization "
     "num-attention-heads num-distributed-optimizer-instances num-experts num-layers "
     "num-layers-per-virtual-pipeline-stage num-query-groups num-virtual-stages-per-pipeline-rank "
     "optimizer padded-vocab-size pipeline-model-parallel-layout pipeline-model-parallel-size "
     "position-embedding-type q-lora-rank qk-head-dim qk-pos-emb-head-dim recompute-granularity "
     "recompute-method recompute-num-layers seq-length tensor-model-parallel-size tokenizer-type "
     "train-iters train-samples transformer-impl v-head-dim vocab-size"},
    {kRead, kMany, kNow,
     "cp-comm-type hierarchical-context-parallel-sizes rampup-batch-size recompute-modules"},
    {kRead, kOn, kLater,
     "fine-grained-activation-offloading"},
    {kRead, kOne, kLater,
     "activation-func-clamp-value experimental-attention-variant hybrid-layer-pattern "
     "linear-attention-freq linear-attention-type mamba-num-layers moe-flex-dispatcher-backend "
     "softmax-type window-attn-skip-freq"},
    {kRead, kMany, kLater,
     "cuda-graph-modules offload-modules"},
    {kRead, kOn, kEarlier,
     "cpu-optimizer deepspeed deepspeed-activation-checkpointing embed-layernorm "
     "use-flash-attn-builder use-flash-attn-cutlass use-flash-attn-triton use-flash-attn-v1 "
     "use-flash-attn-v2 use-flash-attn-v3 use-llama2-rotary-position-embeddings"},
    {kRead, kOne, kEarlier,
     "activations-checkpoint-method activations-checkpoint-num-layers checkpoint-num-layers "
     "deepspeed_config ds-sequence-parallel-size expert-interval hidden-dim-multiplier "
     "intermediate-size moe-expert-parallel-size multiple-of n-head-kv num-key-value-heads "
     "pad-vocab-size-to pp-partition-method topk zero-stage"},
    {kUnmodelled, kOn, kEarlier,
     "checkpoint-in-cpu cpu-torch-adam embedding-weights-in-fp32 kd memory-centric-tiled-linear mos "
     "partition-activations random-ltd scattered-embeddings split-transformers "
     "synchronize-each-layer use-tutel"},
    {kUnmodelled, kOne, kEarlier,
     "mlp-type moe-train-capacity-factor remote-device tile-factor"},
    {kUnmodelled, kOn, kNow,
     "apply-residual-connection-post-layernorm ddp-reduce-scatter-with-fp32-accumulation "
     "defer-embedding-wgrad-compute deterministic-mode distribute-saved-activations "
     "enable-full-sharding-in-hsdp first-last-layers-bf16 fp16-lm-cross-entropy fp32-residual-connection "
     "fp4-param-gather fsdp-double-buffer keep-fp8-transpose-cache "
     "moe-pad-expert-input-to-capacity overlap-cpu-optimizer-d2h-h2d "
     "overlap-p2p-communication-warmup-flush overlap-param-gather-with-optimizer-step perform-rl-step "
     "retro-add-retriever reuse-grad-buf-for-mxfp8-param-ag sft tp-comm-overlap-rs-dgrad "
     "use-checkpoint-args use-mp-args-from-checkpoint-args use-nccl-ub use-ring-exchange-p2p use-sharp"},
    {kUnmodelled, kOff, kNow,
     "disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag "
     "disable-tp-comm-overlap-rs no-align-grad-reduce no-align-param-gather no-bias-dropout-fusion "
     "no-bias-gelu-fusion no-bias-swiglu-fusion no-fp8-wgrad no-gradient-accumulation-fusion "
     "no-masked-softmax-fusion no-rope-fusion"},
    {kUnmodelled, kOne, kNow,
     "ddp-bucket-size ddp-num-buckets empty-unused-memory-level fp4-format "
     "main-params-dtype microbatch-group-size-per-virtual-pipeline-stage num-layers-at-end-in-bf16 "
     "num-layers-at-start-in-bf16 optimizer-offload-fraction retriever-seq-length sharp-enabled-group "
     "suggested-communication-unit-size symmetric-ar-type tp-comm-overlap-cfg wgrad-deferral-limit "
     "yaml-cfg"},
    {kUnmodelled, kOn, kLater,
     "attention-output-gate"},
    {kUnmodelled, kOne, kLater,
     "linear-conv-kernel-dim linear-key-head-dim linear-num-key-heads linear-num-value-heads "
     "linear-value-head-dim"},
    {kUnmodelled, kMany, kNow,
     "spec"},
    {kRead, kOn, kNow,
     "is-hybrid-model"},
    {kRead, kOne, kNow,
     "heterogeneous-layers-config-encoded-json heterogeneous-layers-config-path "
     "hybrid-attention-ratio hybrid-mlp-ratio hybrid-override-pattern window-size"},
    {kHarmless, kOn, kLater,
     "moe-router-fusion moe-router-padding-for-quantization moe-shared-expert-gate"},
    {kHarmless, kOne, kLater,
     "glu-linear-offset"},
    {kHarmless, kOn, kNow,
     "apply-layernorm-1p apply-query-key-layer-scaling async-save attention-softmax-in-fp32 "
     "auto-detect-ckpt-format calculate-per-token-loss check-for-large-grads check-for-spiky-loss "
     "ckpt-assume-constant-structure ckpt-fully-parallel-load ckpt-fully-parallel-save "
     "create-all-gather-group data-parallel-random-init ddp-average-in-collective "
     "ddp-pad-buckets-for-high-nccl-busbw decrease-batch-size-if-needed "
     "disable-bf16-reduced-precision-matmul disable-symmetric-registration enable-experimental "
     "enable-ft-package eod-mask-loss exit-on-missing-checkpoint exit-signal-handler finetune "
     "full-validation init-method-xavier-uniform init-model-with-meta-device legacy-tokenizer "
     "log-batch-size-to-tensorboard log-energy log-memory-to-tensorboard log-num-zeros-in-grad "
     "log-params-norm log-progress log-straggler log-throughput log-timers-to-tensorboard "
     "log-validation-ppl-to-tensorboard log-world-size-to-tensorboard manual-gc moe-apply-probs-on-input "
     "moe-per-layer-logging moe-permute-fusion moe-router-force-load-balancing moe-router-pre-softmax "
     "no-load-optim no-load-rng no-persist-layer-norm no-save-optim no-save-rng onnx-safe openai-gelu "
     "override-opt-param-scheduler override-opt_param-scheduler profile record-memory-history replication "
     "reset-attention-mask reset-position-ids rotary-interleaved rotary-percent-scaling skip-train "
     "trust-remote-code use-checkpoint-opt_param-scheduler use-cpu-initialization use-dist-ckpt "
     "use-fused-weighted-squared-relu use-persistent-ckpt-worker use-pytorch-profiler use-rope-scaling "
     "use-te-activation-func"},
    {kHarmless, kOff, kNow,
     "disable-gloo-process-groups disable-msc no-async-tensor-model-parallel-allreduce "
     "no-barrier-with-level-1-timing no-check-for-nan-in-loss-and-grad no-ckpt-fully-parallel-save "
     "no-clone-scatter-output-in-embedding no-create-attention-mask-in-dataloader "
     "no-gradient-reduce-div-fusion no-initialization no-log-loss-scale-to-tensorboard no-manual-gc-eval "
     "no-mmap-bin-files no-strict-fsdp-dtensor-load no-use-tokenizer-model-from-checkpoint-args"},
    {kHarmless, kOne, kNow,
     "adam-beta1 adam-beta2 adam-eps check-weight-hash-across-dp-replicas-interval ckpt-step clip-grad "
     "config-logger-dir data-args-path data-cache-path dataloader-type decoupled-lr decoupled-min-lr "
     "dist-ckpt-format dist-ckpt-strictness distributed-backend distributed-timeout-minutes "
     "distributed-timeout-seconds-after-init embedding-init-method-std end-weight-decay "
     "error-injection-rate error-injection-type eval-interval eval-iters exit-duration-in-mins "
     "exit-interval fp8-amax-compute-algo fp8-amax-history-len fp8-interval fp8-margin "
     "high-priority-stream-groups hysteresis init-method-std initial-loss-scale layernorm-epsilon load "
     "local-rank log-interval logging-level loss-scale loss-scale-window lr lr-decay-iters "
     "lr-decay-samples lr-decay-style lr-warmup-fraction lr-warmup-init lr-warmup-iters lr-warmup-samples "
     "lr-wsd-decay-iters lr-wsd-decay-samples lr-wsd-decay-style manual-gc-interval memory-snapshot-path "
     "merge-file mid-level-dataset-surplus min-loss-scale min-lr moe-aux-loss-coeff moe-deepep-num-sms "
     "moe-input-jitter-eps moe-router-bias-update-rate moe-router-dtype moe-router-load-balancing-type "
     "moe-router-padding-for-fp8 moe-router-score-function moe-router-topk-scaling-factor "
     "moe-token-drop-policy moe-z-loss-coeff mscale mscale-all-dim mtp-loss-scaling-factor "
     "nccl-communicator-config-path non-persistent-ckpt-type non-persistent-save-interval norm-epsilon "
     "num-dataset-builder-threads num-workers object-storage-cache-path one-logger-project "
     "one-logger-run-name per-split-data-args-path pipeline-model-parallel-comm-backend "
     "pretrained-checkpoint profile-step-end profile-step-start rerun-mode rope-scaling-factor rope-type "
     "rotary-base rotary-base-scaling rotary-percent rotary-scaling-factor "
     "rotary-seq-len-interpolation-factor save save-interval save-retain-interval seed sgd-momentum split "
     "start-weight-decay tensorboard-dir tensorboard-log-interval tensorboard-queue-size tiktoken-pattern "
     "timing-log-level timing-log-option tokenizer-metadata tokenizer-model train-sync-interval vocab-file "
     "wandb-entity wandb-exp-name wandb-project wandb-save-dir weight-decay weight-decay-incr-style"},
    {kHarmless, kMany, kNow,
     "data-path iterations-to-skip profile-ranks test-data-path tiktoken-special-tokens train-data-path "
     "valid-data-path"},
    {kHarmless, kOn, kEarlier,
     "abort-on-unmet-fused-kernel-constraints checkpoint-writer-decoupled contigious-checkpointing "
     "create-moe-param-group custom-token-counting data-efficiency-curriculum-learning "
     "log-optimizer-states-to-tensorboard no-pipeline-parallel profile-backward reset-iteration "
     "sync-tp-duplicated-parameters tensorboard-debug universal-checkpoint use-pin-memory "
     "verify-checkpoint zero-contigious-gradients zero-reduce-scatter"},
    {kHarmless, kOff, kEarlier,
     "disable-mem-efficient-ln no-log-learnig-rate-to-tensorboard no-query-key-layer-scaling"},
    {kHarmless, kOne, kEarlier,
     "DDP-impl aio-intra-op-parallelism checkpoint-data-parallel checkpoint-io-buffer-size "
     "codecarbon-dir curriculum-learning data-impl dataset-config extra-vocab-size kill-switch-file "
     "kill-switch-path lr-decay-tokens lr-warmup-tokens max-padding-length patch-tokenizer-type "
     "rope-theta rotary-position-embeddings-theta tokenizer-name-or-path train-data-exact-num-epochs "
     "train-idx-path train-mode train-tokens zero-allgather-bucket-size zero-reduce-bucket-size "
     "train-weighted-split-paths-path valid-num-workers valid-weighted-split-paths-path"},
};

// argparse's dest is the option with underscores but for these.
struct OwnKey {
  std::string_view flag, key;
};
constexpr OwnKey kOwnKeys[] = {
    {"--ckpt-fully-parallel-save", "ckpt_fully_parallel_save_deprecated"},
    {"--cpu-optimizer", "optimizer_cpu_offload"},
    {"--expert-interval", "moe_layer_freq"},
    {"--intermediate-size", "ffn_hidden_size"},
    {"--moe-expert-parallel-size", "expert_model_parallel_size"},
    {"--n-head-kv", "num_key_value_heads"},
    {"--no-query-key-layer-scaling", "apply_query_key_layer_scaling"},
    {"--topk", "moe_router_topk"},
    {"--use-llama2-rotary-position-embeddings", "use_rotary_position_embeddings"},
    {"--disable-bias-linear", "add_bias_linear"},
    {"--disable-gloo-process-groups", "enable_gloo_process_groups"},
    {"--disable-msc", "enable_msc"},
    {"--disable-tp-comm-bulk-dgrad", "tp_comm_bulk_dgrad"},
    {"--disable-tp-comm-bulk-wgrad", "tp_comm_bulk_wgrad"},
    {"--disable-tp-comm-overlap-ag", "tp_comm_overlap_ag"},
    {"--disable-tp-comm-overlap-rs", "tp_comm_overlap_rs"},
    {"--dist-ckpt-format", "dist_ckpt_format_deprecated"},
    {"--fp4-format", "fp4"},
    {"--fp4-param-gather", "fp4_param"},
    {"--fp8-format", "fp8"},
    {"--microbatch-group-size-per-virtual-pipeline-stage", "microbatch_group_size_per_vp_stage"},
    {"--no-align-grad-reduce", "align_grad_reduce"},
    {"--no-align-param-gather", "align_param_gather"},
    {"--no-async-tensor-model-parallel-allreduce", "async_tensor_model_parallel_allreduce"},
    {"--no-barrier-with-level-1-timing", "barrier_with_L1_time"},
    {"--no-bias-dropout-fusion", "bias_dropout_fusion"},
    {"--no-bias-gelu-fusion", "bias_gelu_fusion"},
    {"--no-bias-swiglu-fusion", "bias_swiglu_fusion"},
    {"--no-check-for-nan-in-loss-and-grad", "check_for_nan_in_loss_and_grad"},
    {"--no-ckpt-fully-parallel-save", "ckpt_fully_parallel_save"},
    {"--no-clone-scatter-output-in-embedding", "clone_scatter_output_in_embedding"},
    {"--no-create-attention-mask-in-dataloader", "create_attention_mask_in_dataloader"},
    {"--no-fp8-wgrad", "fp8_wgrad"},
    {"--no-gradient-accumulation-fusion", "gradient_accumulation_fusion"},
    {"--no-gradient-reduce-div-fusion", "gradient_reduce_div_fusion"},
    {"--no-initialization", "perform_initialization"},
    {"--no-log-loss-scale-to-tensorboard", "log_loss_scale_to_tensorboard"},
    {"--no-manual-gc-eval", "manual_gc_eval"},
    {"--no-masked-softmax-fusion", "masked_softmax_fusion"},
    {"--no-mmap-bin-files", "mmap_bin_files"},
    {"--no-overlap-p2p-communication", "overlap_p2p_comm"},
    {"--no-position-embedding", "add_position_embedding"},
    {"--no-rope-fusion", "apply_rope_fusion"},
    {"--no-scatter-gather-tensors-in-pipeline", "scatter_gather_tensors_in_pipeline"},
    {"--no-strict-fsdp-dtensor-load", "strict_fsdp_dtensor_load"},
    {"--no-use-tokenizer-model-from-checkpoint-args", "use_tokenizer_model_from_checkpoint_args"},
    {"--overlap-p2p-communication-warmup-flush", "overlap_p2p_comm_warmup_flush"},
    {"--torch-fsdp2-no-reshard-after-forward", "torch_fsdp2_reshard_after_forward"},
    {"--use-dist-ckpt", "use_dist_ckpt_deprecated"},
    {"--use-mcore-models", "deprecated_use_mcore_models"},
    {"--use-nccl-ub", "nccl_ub"},
};
// clang-format on

// The rows of all groups, sorted by option; what they point to lives as long as the program.
class ArgumentTable {
 public:
  ArgumentTable() {
    for (const Group& group : kGroups) {
      for (const std::string& name : split_words(group.names)) add(group, "--" + name);
    }
    std::sort(rows_.begin(), rows_.end(),
              [](const auto& a, const auto& b) { return a.flag < b.flag; });
  }
  [[nodiscard]] const std::vector<MegatronArgument>& rows() const { return rows_; }

 private:
  void add(const Group& group, std::string flag) {
    std::string key = flag.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    for (const OwnKey& own : kOwnKeys) {
      if (own.flag == flag) key = own.key;
    }
    const std::string& flag_text = texts_.emplace_back(std::move(flag));
    const std::string& key_text = texts_.emplace_back(std::move(key));
    rows_.push_back({flag_text, key_text, group.kind, group.meaning, group.age});
  }

  std::deque<std::string> texts_;  // never moved
  std::vector<MegatronArgument> rows_;
};

const std::vector<MegatronArgument>& rows() {
  static const ArgumentTable table;
  return table.rows();
}

}  // namespace

const MegatronArgument* megatron_argument(std::string_view flag) {
  const auto found =
      std::lower_bound(rows().begin(), rows().end(), flag,
                       [](const auto& row, std::string_view f) { return row.flag < f; });
  return found != rows().end() && found->flag == flag ? &*found : nullptr;
}

const MegatronArgument* megatron_argument_of_key(std::string_view key) {
  const auto found = std::find_if(rows().begin(), rows().end(),
                                  [&](const MegatronArgument& a) { return a.key == key; });
  return found != rows().end() ? &*found : nullptr;
}

}  // namespace meshwright::interop
