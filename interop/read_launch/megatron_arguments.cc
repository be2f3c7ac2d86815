// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/megatron_arguments.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "interop/read_launch/launcher_words.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr auto kOn = ArgumentKind::on, kOff = ArgumentKind::off, kOne = ArgumentKind::one,
               kMany = ArgumentKind::many;
constexpr auto kNow = ArgumentAge::now, kLater = ArgumentAge::later,
               kEarlier = ArgumentAge::earlier;

// Options that are read and alike, without their dashes. configs/launchers has the others.
struct Group {
  ArgumentKind kind;
  ArgumentAge age;
  std::string_view names;
};

// clang-format off
constexpr Group kGroups[] = {
    {kOn, kNow,
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
    {kOff, kNow,
     "disable-bias-linear no-overlap-p2p-communication no-position-embedding "
     "no-scatter-gather-tensors-in-pipeline torch-fsdp2-no-reshard-after-forward"},
    {kOne, kNow,
     "attention-backend attention-dropout ckpt-format context-parallel-size cpu-offloading-num-layers "
     "cross-entropy-fusion-impl cuda-graph-impl cuda-graph-scope data-parallel-sharding-strategy "
     "decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers exp-avg-dtype exp-avg-sq-dtype "
     "expert-model-parallel-size expert-tensor-parallel-size ffn-hidden-size fp8-format fp8-recipe "
     "global-batch-size hidden-dropout hidden-size kv-channels kv-lora-rank main-grads-dtype "
     "make-vocab-size-divisible-by max-position-embeddings micro-batch-size moe-expert-capacity-factor "
     "moe-ffn-hidden-size moe-layer-freq moe-router-dtype moe-router-group-topk moe-router-num-groups "
     "moe-router-topk moe-shared-expert-intermediate-size moe-token-dispatcher-type mtp-num-layers normalization "
     "num-attention-heads num-distributed-optimizer-instances num-experts num-layers "
     "num-layers-per-virtual-pipeline-stage num-query-groups num-virtual-stages-per-pipeline-rank "
     "optimizer padded-vocab-size pipeline-model-parallel-layout pipeline-model-parallel-size "
     "position-embedding-type q-lora-rank qk-head-dim qk-pos-emb-head-dim recompute-granularity "
     "recompute-method recompute-num-layers seq-length tensor-model-parallel-size tokenizer-type "
     "train-iters train-samples transformer-impl v-head-dim vocab-size"},
    {kMany, kNow,
     "cp-comm-type hierarchical-context-parallel-sizes rampup-batch-size recompute-modules"},
    {kOn, kLater,
     "attention-output-gate fine-grained-activation-offloading moe-shared-expert-gate"},
    {kOne, kLater,
     "activation-func-clamp-value experimental-attention-variant hybrid-layer-pattern "
     "linear-attention-freq linear-attention-type linear-conv-kernel-dim linear-key-head-dim "
     "linear-num-key-heads linear-num-value-heads linear-value-head-dim mamba-num-layers "
     "moe-flex-dispatcher-backend moe-latent-size "
     "softmax-type window-attn-skip-freq"},
    {kMany, kLater,
     "cuda-graph-modules offload-modules"},
    {kOn, kEarlier,
     "cpu-optimizer deepspeed deepspeed-activation-checkpointing embed-layernorm "
     "use-flash-attn-builder use-flash-attn-cutlass use-flash-attn-triton use-flash-attn-v1 "
     "use-flash-attn-v2 use-flash-attn-v3 use-llama2-rotary-position-embeddings"},
    {kOne, kEarlier,
     "activations-checkpoint-method activations-checkpoint-num-layers checkpoint-num-layers "
     "deepspeed_config ds-sequence-parallel-size expert-interval extra-vocab-size "
     "hidden-dim-multiplier intermediate-size moe-expert-parallel-size multiple-of n-head-kv "
     "num-key-value-heads pad-vocab-size-to patch-tokenizer-type pp-partition-method topk zero-stage"},
    {kOn, kNow,
     "is-hybrid-model"},
    {kOne, kNow,
     "heterogeneous-layers-config-encoded-json heterogeneous-layers-config-path "
     "hybrid-attention-ratio hybrid-mlp-ratio hybrid-override-pattern window-size"},
};

// Options that are read whose key in Python is not their name.
struct OwnKey {
  std::string_view name, key;
};
constexpr OwnKey kOwnKeys[] = {
    {"cpu-optimizer", "optimizer_cpu_offload"},
    {"expert-interval", "moe_layer_freq"},
    {"intermediate-size", "ffn_hidden_size"},
    {"moe-expert-parallel-size", "expert_model_parallel_size"},
    {"n-head-kv", "num_key_value_heads"},
    {"topk", "moe_router_topk"},
    {"use-llama2-rotary-position-embeddings", "use_rotary_position_embeddings"},
    {"disable-bias-linear", "add_bias_linear"},
    {"fp8-format", "fp8"},
    {"no-overlap-p2p-communication", "overlap_p2p_comm"},
    {"no-position-embedding", "add_position_embedding"},
    {"no-scatter-gather-tensors-in-pipeline", "scatter_gather_tensors_in_pipeline"},
    {"torch-fsdp2-no-reshard-after-forward", "torch_fsdp2_reshard_after_forward"},
    {"use-mcore-models", "deprecated_use_mcore_models"},
};
// clang-format on

// The rows of all groups, sorted by option; what they point to lives as long as the program.
class ArgumentTable {
 public:
  ArgumentTable() {
    for (const Group& group : kGroups) {
      for (const std::string& name : split_words(group.names)) {
        const auto own = std::find_if(std::begin(kOwnKeys), std::end(kOwnKeys),
                                      [&](const OwnKey& each) { return each.name == name; });
        add(name, own == std::end(kOwnKeys) ? "" : std::string(own->key),
            {.kind = group.kind, .age = group.age});
      }
    }
    for (const WordGroup& group : launcher_words("megatron-lm").words) {
      const MegatronArgument row{.kind = kind_of(group.takes),
                                 .group = &group,
                                 .age = group.gone ? ArgumentAge::earlier : ArgumentAge::now};
      for (const std::string& name : group.names) {
        const std::size_t end = std::min(name.find('='), name.size() - 1);
        add(name.substr(0, name.find('=')), name.substr(end + 1), row);
      }
    }
    std::sort(rows_.begin(), rows_.end(),
              [](const auto& a, const auto& b) { return a.flag < b.flag; });
  }
  [[nodiscard]] const std::vector<MegatronArgument>& rows() const { return rows_; }

 private:
  static ArgumentKind kind_of(WordTakes takes) {
    return takes == WordTakes::nothing  ? ArgumentKind::on
           : takes == WordTakes::clears ? ArgumentKind::off
           : takes == WordTakes::one    ? ArgumentKind::one
                                        : ArgumentKind::many;
  }

  // argparse's dest is the option with underscores where `key` is empty.
  void add(const std::string& name, const std::string& key, MegatronArgument row) {
    row.flag = texts_.emplace_back("--" + name);
    row.key = texts_.emplace_back(key.empty() ? replaced(name, "-", "_") : key);
    rows_.push_back(row);
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

std::vector<std::string> megatron_flags() {
  std::vector<std::string> flags;
  for (const MegatronArgument& row : rows()) flags.emplace_back(row.flag);
  return flags;
}

}  // namespace meshwright::interop
