// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_text.h"
#include "sim/block/recurrent.h"
#include "sim/hardware/device.h"

namespace meshwright {
namespace {

using RuleIn = ServingRuleInput;

constexpr std::int64_t kScaledBlock = 128;  // rows and columns that share a scale
constexpr std::int64_t kMarlinColumns = 64, kMarlinRows = 128;

CheckResult share_is_whole(std::int64_t available, std::int64_t divisor) {
  if (divisor > 0 && available % divisor == 0) return std::nullopt;
  return Missed{static_cast<double>(divisor), static_cast<double>(available)};
}
bool quantizes_part(const RuleIn& in, unsigned part) {
  return in.options.weights.format != WeightFormat::bf16 &&
         (in.options.weights.quantized & part) != 0;
}
int expert_tensor_ranks(const RuleIn& in) { return expert_tensor_size(in.options.layout); }
std::int64_t as_whole(double value) { return static_cast<std::int64_t>(value); }

// The first width whose share of a rank is not whole blocks of `block`.
CheckResult whole_blocks(const RuleIn& in, std::int64_t block) {
  const Model& m = in.model;
  const int tp = in.options.layout.tensor_parallel_size;
  const auto broken = [&](std::int64_t width, int ranks) -> CheckResult {
    if (width == 0 || (width % ranks == 0 && width / ranks % block == 0)) return std::nullopt;
    return Missed{static_cast<double>(ranks), static_cast<double>(width)};
  };
  if (has_dense_mlp(m) && quantizes_part(in, kQuantizedDenseMlp)) {
    if (CheckResult result = broken(m.ffn_hidden_size, tp)) return result;
  }
  if (m.moe && quantizes_part(in, kQuantizedExperts)) {
    if (CheckResult result = broken(m.moe->moe_ffn_hidden_size, expert_tensor_ranks(in)))
      return result;
  }
  if (m.moe && quantizes_part(in, kQuantizedSharedExperts)) {
    return broken(m.moe->moe_shared_expert_intermediate_size, tp);
  }
  return std::nullopt;
}
std::string share_sentence(const Missed& m, std::int64_t block) {
  return fmt::format("{} / {} is {} columns a rank, which is no multiple of {}",
                     count_text(as_whole(m.available)), as_whole(m.needed),
                     number_text(m.available / m.needed), block);
}

constexpr ServingRuleRow kServingRules[]{
    {.name = "model_has_kv_layout",
     .check = [](const RuleIn& in) -> CheckResult {
       if (has_kv_layout(in.model)) return std::nullopt;
       return Missed{1, 0};
     },
     .requirement = "The model must attend, and its layers must hold keys and values.",
     .reason =
         "Bytes of the cache follow from heads or latent ranks; those of state-space layers are "
         "not known here.",
     .remedy = "Use a model whose file has num_attention_heads, num_query_groups and kv_channels.",
     .sentence =
         [](const RuleIn& in, const Missed&) {
           return fmt::format("{} has no known key-value layout (num_attention_heads {})",
                              in.model.name, in.model.num_attention_heads);
         }},
    {.name = "replica_fits_cluster",
     .check = [](const RuleIn& in) -> CheckResult {
       const int asked = num_gpus(in.options.layout), there = in.cluster.num_gpus();
       if (asked <= there) return std::nullopt;
       return Missed{static_cast<double>(asked), static_cast<double>(there)};
     },
     .requirement = "A replica must not have more GPUs than the cluster.",
     .reason = "world size = tensor x pipeline x data size (vLLM config/parallel.py@00193b82).",
     .remedy = "Use smaller sizes, or a larger cluster (--gpus).",
     .sentence =
         [](const RuleIn& in, const Missed& m) {
           return fmt::format("{} takes {} GPUs, the cluster has {}", short_name(in.options.layout),
                              as_whole(m.needed), as_whole(m.available));
         }},
    {.name = "heads_divide_by_tensor_size",
     .check =
         [](const RuleIn& in) {
           return share_is_whole(in.model.num_attention_heads,
                                 in.options.layout.tensor_parallel_size);
         },
     .requirement = "num_attention_heads must be a multiple of tensor_parallel_size.",
     .reason =
         "\"Total number of attention heads must be divisible by tensor parallel size\" (vLLM "
         "config/model.py verify_with_parallel_config; SGLang and TensorRT-LLM assert it).",
     .remedy = "Use a tensor size that divides the heads.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("{} attention heads are not divisible by tensor size {}",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "linear_attention_heads_divide",
     .check = [](const RuleIn& in) -> CheckResult {
       const auto mixer = recurrent_mixer(in.model);
       if (!mixer) return std::nullopt;
       const int tp = in.options.layout.tensor_parallel_size;
       if (CheckResult result = share_is_whole(mixer->heads, tp)) return result;
       return mixer->groups > 1 ? share_is_whole(mixer->groups, tp) : std::nullopt;
     },
     .requirement = "The heads of a recurrent mixer (linear_num_key_heads, mamba_num_heads, ...), "
                    "and groups of them beyond one, must be a multiple of tensor_parallel_size.",
     .reason = "Each rank keeps the states of whole heads; one group is repeated (vLLM "
               "model_executor/layers/mamba, mamba_utils.py and mamba_mixer2.py).",
     .remedy = "Use a tensor size that divides the heads of the recurrent mixer.",
     .sentence =
         [](const RuleIn& in, const Missed& m) {
           return fmt::format(
               "{} heads (or groups of heads) of {} are not divisible by tensor "
               "size {}",
               as_whole(m.available), recurrent_mixer(in.model)->plural, as_whole(m.needed));
         }},
    {.name = "output_groups_divide_by_tensor_size",
     .check = [](const RuleIn& in) -> CheckResult {
       if (!in.model.compressed_attention) return std::nullopt;
       return share_is_whole(in.model.compressed_attention->o_groups,
                             in.options.layout.tensor_parallel_size);
     },
     .requirement = "Groups of the output projection must be a multiple of the tensor size.",
     .reason = "Each group of heads has an output product of its own, whole on one rank "
               "(DeepSeek-V4, grouped output projection).",
     .remedy = "Use a tensor size that divides o_groups.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("{} output groups are not divisible by tensor size {}",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "kv_heads_divide_or_repeat",
     .check = [](const RuleIn& in) -> CheckResult {
       if (in.model.mla) return std::nullopt;
       const int tp = in.options.layout.tensor_parallel_size, heads = in.model.num_query_groups;
       if (heads >= tp ? heads % tp == 0 : tp % heads == 0) return std::nullopt;
       return Missed{static_cast<double>(tp), static_cast<double>(heads)};
     },
     .requirement = "Key-value heads must be a multiple of the tensor size, or divide it.",
     .reason = "Each rank holds whole heads; with fewer heads than ranks each is repeated equally "
               "often (vLLM and SGLang, QKVParallelLinear of layers/linear.py).",
     .remedy = "Use a tensor size that divides the key-value heads or is a multiple of them.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format(
               "{} key-value heads are neither a multiple nor a divisor of tensor "
               "size {}",
               as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "vocabulary_divides_by_tensor_size",
     .check = [](const RuleIn& in) -> CheckResult {
       if (in.engine.kind == EngineKind::tensorrt_llm) return std::nullopt;
       return share_is_whole(served_vocab_size(in.model), in.options.layout.tensor_parallel_size);
     },
     .requirement = "The vocabulary, padded to 64 rows, must be a multiple of the tensor size.",
     .reason = "Embedding and head are cut into equal rows (vLLM and SGLang, "
               "vocab_parallel_embedding.py).",
     .remedy = "Use a power of two.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("the padded vocabulary of {} rows is not divisible by tensor size {}",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "mlp_divides_by_tensor_size",
     .check = [](const RuleIn& in) -> CheckResult {
       const int tp = in.options.layout.tensor_parallel_size;
       if (has_dense_mlp(in.model)) return share_is_whole(in.model.ffn_hidden_size, tp);
       return share_is_whole(in.model.moe->moe_shared_expert_intermediate_size, tp);
     },
     .requirement = "The width of the MLP must be a multiple of the tensor size.",
     .reason = "Its first weight is cut by columns and its second by rows into equal pieces (vLLM "
               "and SGLang, divide() of ColumnParallelLinear).",
     .remedy = "Use a tensor size that divides the width.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("an MLP of {} columns is not divisible by tensor size {}",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "layers_cover_stages",
     .check = [](const RuleIn& in) -> CheckResult {
       if (in.model.num_layers >= in.options.layout.pipeline_parallel_size) return std::nullopt;
       return Missed{static_cast<double>(in.options.layout.pipeline_parallel_size),
                     static_cast<double>(in.model.num_layers)};
     },
     .requirement = "Each pipeline stage must hold at least one layer.",
     .reason = "Layers are dealt out to stages (vLLM distributed/utils.py get_pp_indices).",
     .remedy = "Use fewer stages.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("{} layers do not cover {} stages", as_whole(m.available),
                              as_whole(m.needed));
         }},
    {.name = "expert_size_divides_ranks",
     .check = [](const RuleIn& in) -> CheckResult {
       const ReplicaLayout& l = in.options.layout;
       return share_is_whole(std::int64_t{l.tensor_parallel_size} * l.data_parallel_size,
                             l.expert_parallel_size);
     },
     .requirement = "expert_parallel_size must divide tensor x data ranks.",
     .reason =
         "Experts lie over these ranks; what is left cuts each expert (SGLang server_args.py: "
         "ep divides tp; TensorRT-LLM mapping.py: moe_tp x moe_ep = tp).",
     .remedy = "Use an expert size that divides them.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("{} tensor x data ranks are not divisible by expert size {}",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "experts_need_experts",
     .check = [](const RuleIn& in) -> CheckResult {
       if (in.model.moe || in.options.layout.expert_parallel_size == 1) return std::nullopt;
       return Missed{static_cast<double>(in.options.layout.expert_parallel_size), 0};
     },
     .requirement = "expert_parallel_size above 1 needs a model with experts.",
     .reason = "There is nothing to spread.",
     .remedy = "Leave it at 1.",
     .sentence =
         [](const RuleIn& in, const Missed& m) {
           return fmt::format("expert size {} for {}, which has no experts", as_whole(m.needed),
                              in.model.name);
         }},
    {.name = "data_ranks_need_experts",
     .check = [](const RuleIn& in) -> CheckResult {
       if (in.model.moe || in.options.layout.data_parallel_size == 1) return std::nullopt;
       return Missed{static_cast<double>(in.options.layout.data_parallel_size), 1};
     },
     .requirement = "Data ranks of one replica need a model with experts.",
     .reason = "Data ranks of a dense model exchange nothing: they are replicas behind a router "
               "(vLLM docs, data parallel deployment).",
     .remedy = "Use more replicas in place of data ranks.",
     .sentence =
         [](const RuleIn& in, const Missed& m) {
           return fmt::format("data size {} for {}, which has no experts", as_whole(m.needed),
                              in.model.name);
         }},
    {.name = "expert_group_is_whole_in_vllm",
     .check = [](const RuleIn& in) -> CheckResult {
       const ReplicaLayout& l = in.options.layout;
       const int group = l.tensor_parallel_size * l.data_parallel_size;
       if (in.engine.kind != EngineKind::vllm || l.expert_parallel_size == 1) return std::nullopt;
       if (l.expert_parallel_size == group) return std::nullopt;
       return Missed{static_cast<double>(group), static_cast<double>(l.expert_parallel_size)};
     },
     .requirement = "vLLM's expert group is all tensor x data ranks, or there is none.",
     .reason = "--enable-expert-parallel takes no size (config/parallel.py@00193b82).",
     .remedy = "Use expert_parallel_size = tensor x data ranks, or 1.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("expert size {} is not the {} tensor x data ranks",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "expert_width_divides",
     .check = [](const RuleIn& in) -> CheckResult {
       if (!in.model.moe) return std::nullopt;
       return share_is_whole(in.model.moe->moe_ffn_hidden_size, expert_tensor_ranks(in));
     },
     .requirement = "An expert's width must be a multiple of the ranks that it is cut over.",
     .reason = "moe_tp = tensor x data / expert size cuts each expert (TensorRT-LLM mapping.py).",
     .remedy = "Raise expert_parallel_size.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("experts of {} columns are not divisible by {} ranks",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "fp8_blocks_are_whole",
     .check = [](const RuleIn& in) -> CheckResult {
       const bool blocks = in.options.weights.format == WeightFormat::fp8_block;
       return blocks ? whole_blocks(in, kScaledBlock) : std::nullopt;
     },
     .requirement = "With fp8 in blocks of 128 x 128, each rank's share must be whole blocks.",
     .reason = "\"weight output_partition_size is not divisible by weight quantization block_n = "
               "128\" (vLLM fp8.py; vllm#12256, sglang#3345).",
     .remedy = "Use a smaller tensor size, or expert parallelism for the experts.",
     .sentence = [](const RuleIn&, const Missed& m) { return share_sentence(m, kScaledBlock); }},
    {.name = "int4_groups_are_whole",
     .check = [](const RuleIn& in) -> CheckResult {
       if (in.options.weights.format != WeightFormat::int4) return std::nullopt;
       const std::int64_t group = std::max<std::int64_t>(
           in.options.weights.group_size, in.engine.kind == EngineKind::vllm ? kMarlinColumns : 1);
       return whole_blocks(in, group);
     },
     .requirement = "With int4, each rank's share must be whole groups.",
     .reason = "A row-parallel weight is cut inside no group, and Marlin wants 64 columns (vLLM "
               "marlin_utils; vllm#17604).",
     .remedy = "Use a smaller tensor size, or expert parallelism.",
     .sentence =
         [](const RuleIn& in, const Missed& m) {
           return share_sentence(
               m, std::max<std::int64_t>(in.options.weights.group_size, kMarlinColumns));
         }},
    {.name = "weight_format_is_supported",
     .check = [](const RuleIn& in) -> CheckResult {
       const auto& known = in.engine.weight_formats;
       const WeightFormat format = in.options.weights.format;
       if (known.empty() || std::find(known.begin(), known.end(), format) != known.end()) {
         return std::nullopt;
       }
       return Missed{1, 0};
     },
     .requirement = "The engine must load the format of the weights.",
     .reason = "Its list of quantization methods.",
     .remedy = "Use another format, or a newer engine.",
     .sentence =
         [](const RuleIn& in, const Missed&) {
           return fmt::format("{} does not load {} weights", in.engine.name,
                              name_of(in.options.weights.format));
         }},
    {.name = "device_multiplies_format",
     .check = [](const RuleIn& in) -> CheckResult {
       const unsigned formats = formats_of(only_device(in.cluster));
       const Precision precision = product_precision(in.options.weights.format);
       // Weight-only kernels (Marlin) widen fp8 and fp4 where products do not take them.
       if ((formats & format_bit(precision)) != 0 || precision == Precision::bf16) {
         return std::nullopt;
       }
       if (precision == Precision::fp4 && in.engine.kind == EngineKind::vllm) return std::nullopt;
       if (precision == Precision::fp8 && in.options.weights.format == WeightFormat::fp8) {
         return std::nullopt;
       }
       return Missed{1, 0};
     },
     .requirement =
         "The device must multiply in the format of the weights, or the engine widen it.",
     .reason = "fp8 in blocks needs Hopper or Ada (DeepGEMM, CUTLASS), NVFP4 and MXFP8 Blackwell.",
     .remedy = "Use bf16 or int4 weights, or another device.",
     .sentence =
         [](const RuleIn& in, const Missed&) {
           return fmt::format("{} does not multiply {} weights", only_device(in.cluster).name,
                              name_of(in.options.weights.format));
         }},
    {.name = "kv_cache_format_is_supported",
     .check = [](const RuleIn& in) -> CheckResult {
       const auto& known = in.engine.kv_cache_formats;
       const KvCacheFormat format = in.options.kv_cache;
       const bool listed =
           known.empty() || std::find(known.begin(), known.end(), format) != known.end();
       const bool fits = format != KvCacheFormat::fp8_ds_mla || in.model.mla.has_value();
       if (listed && fits) return std::nullopt;
       return Missed{1, 0};
     },
     .requirement = "The engine must store the cache in that format, fp8_ds_mla for MLA alone.",
     .reason = "Its --kv-cache-dtype choices.",
     .remedy = "Use bf16 or fp8.",
     .sentence =
         [](const RuleIn& in, const Missed&) {
           return fmt::format("{} does not store {}'s cache in {}", in.engine.name, in.model.name,
                              name_of(in.options.kv_cache));
         }},
    {.name = "decode_context_divides_tensor_size",
     .check = [](const RuleIn& in) -> CheckResult {
       const ReplicaLayout& l = in.options.layout;
       if (l.decode_context_parallel_size == 1) return std::nullopt;
       if (!in.engine.decode_context_parallel) {
         return Missed{1, static_cast<double>(l.decode_context_parallel_size)};
       }
       return share_is_whole(l.tensor_parallel_size, l.decode_context_parallel_size);
     },
     .requirement = "decode_context_parallel_size must divide the tensor size, in vLLM alone.",
     .reason = "Its ranks are tensor ranks that hold the same heads (config/parallel.py@00193b82).",
     .remedy = "Use a size that divides the tensor size, or 1.",
     .sentence =
         [](const RuleIn& in, const Missed& m) {
           if (!in.engine.decode_context_parallel) {
             return fmt::format("{} has no decode context parallelism", in.engine.name);
           }
           return fmt::format("tensor size {} is not divisible by decode context size {}",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "decode_context_repeats_heads",
     .check = [](const RuleIn& in) -> CheckResult {
       const ReplicaLayout& l = in.options.layout;
       const double repeats =
           kv_replication(in.model, {.tensor_parallel_size = l.tensor_parallel_size});
       if (l.decode_context_parallel_size <= repeats) return std::nullopt;
       return Missed{static_cast<double>(l.decode_context_parallel_size), repeats};
     },
     .requirement = "decode_context_parallel_size must not exceed how often heads are repeated.",
     .reason = "It spreads copies of one head over ranks; MLA has one head (vLLM docs, context "
               "parallel deployment).",
     .remedy = "Use tensor size / key-value heads at most.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("decode context size {} exceeds the {} copies of each head",
                              as_whole(m.needed), number_text(m.available));
         }},
    {.name = "attention_data_size_is_all_or_none",
     .check = [](const RuleIn& in) -> CheckResult {
       const ReplicaLayout& l = in.options.layout;
       const bool trt = in.engine.kind == EngineKind::tensorrt_llm;
       if (!trt || l.data_parallel_size == 1 || l.tensor_parallel_size == 1) return std::nullopt;
       return Missed{static_cast<double>(l.tensor_parallel_size * l.data_parallel_size),
                     static_cast<double>(l.data_parallel_size)};
     },
     .requirement = "TensorRT-LLM's attention data size is all ranks or 1.",
     .reason = "enable_attention_dp is a switch (mapping.py).",
     .remedy = "Use it for all ranks, or not.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("attention data size {} of {} ranks", as_whole(m.available),
                              as_whole(m.needed));
         }},
    {.name = "pools_have_one_stage_in_vllm",
     .check = [](const RuleIn& in) -> CheckResult {
       const int stages = in.options.layout.pipeline_parallel_size;
       if (!in.one_of_two_pools || in.engine.kind != EngineKind::vllm || stages == 1) {
         return std::nullopt;
       }
       return Missed{1, static_cast<double>(stages)};
     },
     .requirement = "A prefill or a decode pool has one pipeline stage in vLLM.",
     .reason = "\"NixlConnector received pp_rank > 0 handshake metadata but does not support "
               "PP-disaggregated KV transfer\" (vllm#52913).",
     .remedy = "Use tensor ranks in place of stages, or replicas that do everything.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("vLLM moves no caches between pools of {} stages",
                              as_whole(m.available));
         }},
    {.name = "batched_tokens_cover_sequences",
     .check = [](const RuleIn& in) -> CheckResult {
       const ReplicaOptions& o = in.options;
       if (in.engine.kind != EngineKind::vllm) return std::nullopt;
       if (o.max_num_batched_tokens >= o.max_num_seqs) return std::nullopt;
       return Missed{static_cast<double>(o.max_num_seqs),
                     static_cast<double>(o.max_num_batched_tokens)};
     },
     .requirement = "max_num_batched_tokens must be at least max_num_seqs.",
     .reason = "Each running sequence needs a token of the budget (vLLM config/scheduler.py).",
     .remedy = "Raise max_num_batched_tokens, or lower max_num_seqs.",
     .sentence =
         [](const RuleIn&, const Missed& m) {
           return fmt::format("max_num_batched_tokens {} is below max_num_seqs {}",
                              as_whole(m.available), as_whole(m.needed));
         }},
    {.name = "positions_cover_max_model_len",
     .check = [](const RuleIn& in) -> CheckResult {
       const int positions = in.model.max_position_embeddings, asked = in.options.max_model_len;
       if (positions == 0 || asked <= positions) return std::nullopt;
       return Missed{static_cast<double>(asked), static_cast<double>(positions)};
     },
     .requirement = "max_model_len must not exceed the model's positions.",
     .reason = "\"User-specified max_model_len is greater than the derived max_model_len\" (vLLM "
               "config/model.py; SGLang configs/model_config.py).",
     .remedy = "Use a shorter length, or stretch the positions (hf-overrides with rope_scaling).",
     .sentence =
         [](const RuleIn& in, const Missed& m) {
           return fmt::format("max_model_len {} exceeds the {} positions of {}",
                              count_text(as_whole(m.needed)), count_text(as_whole(m.available)),
                              in.model.name);
         }},
};

CheckResult beside_the_others(const RuleIn&) { return std::nullopt; }

std::string gib_text(Bytes amount) { return number_text(in_gibibytes(amount), 3) + " GiB"; }

std::string weights_sentence(const RuleIn& in, const Missed&) {
  const Device& device = only_device(in.cluster);
  const ReplicaMemory memory = replica_memory(in.model, device, in.engine, in.options);
  const Bytes weights = memory.weights.total();
  if (weights > memory.device) {
    return fmt::format("the weights take {} on a device of {}", gib_text(weights),
                       gib_text(memory.device));
  }
  const CacheRoom room = cache_room(memory, in.engine.memory.rule);
  return fmt::format("the weights take {} and the rest beside the cache {}; the engine has {}",
                     gib_text(weights), gib_text(room.beside - weights), gib_text(room.budget));
}

constexpr ServingRuleRow kServingMemoryRules[]{
    {.name = "weights_leave_room_for_cache",
     .check = beside_the_others,
     .requirement = "Weights, activations and graphs must leave room for a block of the cache.",
     .reason = "\"No available memory for the cache blocks\" (vLLM v1/core/kv_cache_utils.py); "
               "SGLang and TensorRT-LLM stop, too.",
     .remedy = "Use more GPUs a replica, narrower weights, or a larger memory fraction.",
     .sentence = weights_sentence},
    {.name = "cache_holds_longest_request",
     .check = beside_the_others,
     .requirement = "vLLM's cache must hold at least one request of max_model_len.",
     .reason = "\"To serve at least one request with the model's max seq len\" the cache must hold "
               "it, or vLLM does not start (v1/core/kv_cache_utils.py).",
     .remedy = "Use more GPUs a replica, narrower weights or cache, a shorter max_model_len, or a "
               "larger memory fraction.",
     .sentence =
         [](const RuleIn& in, const Missed& m) {
           return fmt::format(
               "the cache holds {} tokens, and {} starts only with room for a request of "
               "max_model_len {}",
               count_text(as_whole(m.available)), in.engine.name, count_text(as_whole(m.needed)));
         }},
    {.name = "cache_holds_a_request",
     .check = beside_the_others,
     .requirement = "The cache must hold a request of the load.",
     .reason = "A request that is longer than the whole cache is never served.",
     .remedy = "Use more GPUs a replica, narrower weights or cache, shorter requests, or a larger "
               "memory fraction.",
     .sentence = [](const RuleIn&, const Missed& m) {
       return fmt::format("the cache holds {} tokens, a request takes {}",
                          count_text(as_whole(m.available)), count_text(as_whole(m.needed)));
     }}};
enum MemoryRuleRow { kWeightsRule, kLongestRule, kRequestRule };

}  // namespace

std::span<const ServingRuleRow> serving_rules() { return kServingRules; }
std::span<const ServingRuleRow> serving_memory_rules() { return kServingMemoryRules; }

std::optional<ServingViolation> check_replica(const ServingRuleInput& in) {
  for (const ServingRuleRow& row : kServingRules) {
    if (const CheckResult missed = row.check(in)) return ServingViolation{&row, *missed};
  }
  return std::nullopt;
}

std::optional<ServingViolation> check_replica_memory(const ServingRuleInput& in,
                                                     const ReplicaMemory& memory, double request,
                                                     bool length_is_given) {
  if (memory.longest_request() <= 0.0) {
    const CacheRoom room = cache_room(memory, in.engine.memory.rule);
    return ServingViolation{&kServingMemoryRules[kWeightsRule],
                            {in_gibibytes(room.beside), in_gibibytes(room.budget)}};
  }
  const auto missed = [&](double tokens, MemoryRuleRow row) -> std::optional<ServingViolation> {
    const double held =
        row == kLongestRule ? memory.reserved_requests(tokens) : memory.requests_of(tokens);
    if (tokens <= 0.0 || held >= 1.0) return std::nullopt;
    return ServingViolation{&kServingMemoryRules[row], {tokens, memory.longest_request()}};
  };
  if (const auto found = missed(request, kRequestRule)) return found;
  const bool starts_with_it = length_is_given && in.engine.kind == EngineKind::vllm;
  return missed(starts_with_it ? in.options.max_model_len : 0, kLongestRule);
}

}  // namespace meshwright
