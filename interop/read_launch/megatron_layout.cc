// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "interop/read_launch/megatron_fields.h"
#include "sim/base/text.h"
#include "sim/layout/fields.h"

namespace meshwright::interop {
namespace {

template <typename Module, typename Names>
void read_modules(LaunchReading& r, ModuleSet<Module>& target, const char* key,
                  const Names& names) {
  const Value* value = r.find(key);
  if (value == nullptr) return;
  unsigned bits = 0;
  std::string text;
  for (const std::string& word : value->words) {
    const auto known = std::find_if(names.begin(), names.end(),
                                    [&](const auto& entry) { return entry.name == word; });
    if (known == names.end()) fail_at(*value, fmt::format("\"{}\" is no module", word));
    bits |= known->value;
    append_to_list(text, "+", word);
  }
  target = {static_cast<std::uint8_t>(bits)};
  r.note(key, text, *value);
}

void read_chunks(LaunchReading& r, Layout& l, int num_layers) {
  const Value* list = r.find("pipeline_model_parallel_layout");
  const Value* layers = r.find("num_layers_per_virtual_pipeline_stage");
  const Value* stages = r.find("num_virtual_stages_per_pipeline_rank");
  const int ways =
      (list != nullptr ? 1 : 0) + (layers != nullptr ? 1 : 0) + (stages != nullptr ? 1 : 0);
  if (ways > 1) {
    fail_at(list != nullptr ? *list : *layers,
            "Megatron-LM takes one of --pipeline-model-parallel-layout, "
            "--num-layers-per-virtual-pipeline-stage and --num-virtual-stages-per-pipeline-rank");
  }
  if (list != nullptr) read_chunk_list(r, *list);
  if (layers != nullptr) {
    const int all = num_layers + (l.account_for_embedding_in_pipeline_split ? 1 : 0) +
                    (l.account_for_loss_in_pipeline_split ? 1 : 0);
    const int each = integer_of(*layers, kParallelSizes);
    const int a_stage = all / l.pipeline_parallel_size;
    if (num_layers > 0 && (all % l.pipeline_parallel_size != 0 || a_stage % each != 0)) {
      fail_at(*layers, fmt::format("{} layers over {} stages do not divide into chunks of {}", all,
                                   l.pipeline_parallel_size, each));
    }
    l.virtual_pipeline_parallel_size = std::max(1, a_stage / each);
    r.note("virtual_pipeline_parallel_size", std::to_string(l.virtual_pipeline_parallel_size),
           *layers);
  }
  if (stages != nullptr) {
    r.integer(l.virtual_pipeline_parallel_size, "virtual_pipeline_parallel_size",
              "num_virtual_stages_per_pipeline_rank", kParallelSizes);
  }
  l.schedule = implied_schedule(l.virtual_pipeline_parallel_size);
}

void read_pipeline(LaunchReading& r, Layout& l, int num_layers) {
  r.integer(l.pipeline_parallel_size, "pipeline_parallel_size", "pipeline_model_parallel_size",
            kParallelSizes);
  r.integer(l.num_layers_in_first_pipeline_stage, "num_layers_in_first_pipeline_stage",
            "decoder_first_pipeline_num_layers", kParallelSizes);
  r.integer(l.num_layers_in_last_pipeline_stage, "num_layers_in_last_pipeline_stage",
            "decoder_last_pipeline_num_layers", kParallelSizes);
  r.flag(l.account_for_embedding_in_pipeline_split, "account_for_embedding_in_pipeline_split",
         "account_for_embedding_in_pipeline_split");
  r.flag(l.account_for_loss_in_pipeline_split, "account_for_loss_in_pipeline_split",
         "account_for_loss_in_pipeline_split");
  // DeepSpeed's way to say that embedding and head weigh as much as a layer.
  if (const Value* method = r.find("pp_partition_method"); method != nullptr) {
    const std::string word = word_of(*method);
    const bool ends = contains(word, "transformer|embedding");
    l.account_for_embedding_in_pipeline_split = l.account_for_loss_in_pipeline_split = ends;
    r.note("account_for_embedding_in_pipeline_split", ends ? "true" : "false", *method);
    if (!ends) r.not_understood(*method, "only type:transformer|embedding is modelled");
  }
  read_chunks(r, l, num_layers);
  bool overlaps = true;
  r.flag(overlaps, "overlap_p2p_comm", "overlap_p2p_comm");
  // arguments.py clears it without the interleaved schedule.
  l.overlap_p2p_comm = overlaps && l.virtual_pipeline_parallel_size > 1;
}

constexpr std::array kCpNames{EnumName{ContextParallelAlgorithm::p2p, "p2p"},
                              EnumName{ContextParallelAlgorithm::all_gather, "allgather"},
                              EnumName{ContextParallelAlgorithm::a2a, "a2a"},
                              EnumName{ContextParallelAlgorithm::a2a_p2p, "a2a+p2p"}};

void read_megatron_context(LaunchReading& r, Layout& l) {
  r.integer(l.context_parallel_size, "context_parallel_size", "context_parallel_size",
            kParallelSizes);
  r.choice(l.cp_comm_type, "cp_comm_type", "cp_comm_type", kCpNames);
  // DeepSpeed-Ulysses.
  if (r.integer(l.context_parallel_size, "context_parallel_size", "ds_sequence_parallel_size",
                kParallelSizes)) {
    l.cp_comm_type = ContextParallelAlgorithm::a2a;
  }
  const Value* sizes = r.find("hierarchical_context_parallel_sizes");
  if (sizes != nullptr && !sizes->words.empty()) {
    Value inner = *sizes;
    inner.words.resize(1);
    l.hierarchical_context_parallel_size = integer_of(inner, kParallelSizes);
    r.note("hierarchical_context_parallel_size", inner.words.front(), *sizes);
  }
}

constexpr std::array kShardingNames{EnumName{0, "no_shard"}, EnumName{1, "optim"},
                                    EnumName{2, "optim_grads"}, EnumName{3, "optim_grads_params"}};

void read_megatron_sharding(LaunchReading& r, Layout& l) {
  l.zero_stage = r.is_on("use_distributed_optimizer") ? 1 : 0;
  if (l.zero_stage == 1) r.note("zero_stage", "1", *r.find("use_distributed_optimizer"));
  const bool fsdp = r.is_on("use_megatron_fsdp") || r.is_on("use_custom_fsdp");
  if (fsdp) {
    l.zero_stage = 3;
    if (!r.choice(l.zero_stage, "zero_stage", "data_parallel_sharding_strategy", kShardingNames)) {
      r.note("zero_stage", "3",
             *r.find(r.is_on("use_megatron_fsdp") ? "use_megatron_fsdp" : "use_custom_fsdp"));
    }
  } else {
    r.values().pass_over("data_parallel_sharding_strategy");
  }
  if (r.is_on("use_torch_fsdp2")) {
    l.fsdp_unit = FsdpUnit::block;
    r.note("fsdp_unit", "block", *r.find("use_torch_fsdp2"));
    const Value* reshard = r.find("torch_fsdp2_reshard_after_forward");
    l.zero_stage = reshard == nullptr || flag_of(*reshard) ? 3 : 2;
    r.note("zero_stage", std::to_string(l.zero_stage), *r.find("use_torch_fsdp2"));
  }
  r.flag(l.overlap_grad_reduce, "overlap_grad_reduce", "overlap_grad_reduce");
  r.flag(l.overlap_param_gather, "overlap_param_gather", "overlap_param_gather");
  r.integer(r.record().replicas, "num_distributed_optimizer_instances",
            "num_distributed_optimizer_instances", kParallelSizes);
}

void read_megatron_recompute(LaunchReading& r, Layout& l) {
  using enum RecomputeGranularity;
  const Value* granularity = r.find("recompute_granularity");
  if (r.is_on("recompute_activations")) {
    l.recompute_granularity = selective;
    r.note("recompute_granularity", "selective", *r.find("recompute_activations"));
  }
  if (granularity != nullptr) {
    r.choice(l.recompute_granularity, "recompute_granularity", "recompute_granularity",
             kRecomputeGranularityNames);
  }
  // Before 2022, and in Megatron-DeepSpeed.
  for (const char* key : {"checkpoint_activations", "deepspeed_activation_checkpointing"}) {
    if (!r.is_on(key)) continue;
    l.recompute_granularity = full;
    r.note("recompute_granularity", "full", *r.find(key));
  }
  read_modules(r, l.recompute_modules, "recompute_modules", kRecomputeModuleNames);
  const Value* method = r.find("recompute_method");
  const Value* layers = r.find("recompute_num_layers");
  if (l.recompute_granularity != full || method == nullptr) return;
  r.choice(l.recompute_method, "recompute_method", "recompute_method", kRecomputeMethodNames);
  if (layers == nullptr) return;
  const int count = integer_of(*layers, kParallelSizes);
  if (l.recompute_method == RecomputeMethod::block) {
    l.recompute_num_layers = count * l.virtual_pipeline_parallel_size;
    r.note("recompute_num_layers", std::to_string(l.recompute_num_layers), *layers);
  } else if (count > 1) {
    r.not_understood(*layers,
                     "units of several layers keep fewer inputs; predicted as units of one",
                     OptionEffect::memory);
  }
}

// Scripts for many models say the sizes of experts for dense ones, too: 1.
void read_experts(LaunchReading& r, Layout& l, bool has_experts) {
  r.integer(l.expert_parallel_size, "expert_parallel_size", "expert_model_parallel_size",
            kParallelSizes);
  r.integer(l.expert_tensor_parallel_size, "expert_tensor_parallel_size",
            "expert_tensor_parallel_size", kParallelSizes);
  const bool no_experts = !has_experts && l.expert_parallel_size == 1;
  if (no_experts || l.expert_tensor_parallel_size == l.tensor_parallel_size) {
    l.expert_tensor_parallel_size = 0;
  }
  for (const char* key : {"moe_router_topk", "moe_ffn_hidden_size", "moe_layer_freq",
                          "moe_shared_expert_intermediate_size", "num_experts"}) {
    if (!has_experts) r.values().pass_over(key);
  }
  if (has_experts) l.moe_token_dispatcher_type = MoeTokenDispatcherType::allgather;
  r.choice(l.moe_token_dispatcher_type, "moe_token_dispatcher_type", "moe_token_dispatcher_type",
           kMoeTokenDispatcherTypeNames);
  r.values().pass_over("moe_enable_deepep");
  r.choice(l.moe_flex_dispatcher_backend, "moe_flex_dispatcher_backend",
           "moe_flex_dispatcher_backend", kMoeFlexDispatcherBackendNames);
  r.flag(l.overlap_moe_expert_parallel_comm, "overlap_moe_expert_parallel_comm",
         "overlap_moe_expert_parallel_comm");
  r.flag(l.delay_wgrad_compute, "delay_wgrad_compute", "delay_wgrad_compute");
  r.flag(l.moe_shared_expert_overlap, "moe_shared_expert_overlap", "moe_shared_expert_overlap");
}

void read_offload(LaunchReading& r, Layout& l) {
  r.flag(l.optimizer_offload, "optimizer_offload", "optimizer_cpu_offload");
  r.integer(l.cpu_offloading_num_layers, "cpu_offloading_num_layers", "cpu_offloading_num_layers",
            {0, kParallelSizes.high});
  if (r.is_on("fine_grained_activation_offloading")) {
    read_modules(r, l.offload_modules, "offload_modules", kOffloadModuleNames);
  }
}

}  // namespace

void read_chunk_list(LaunchReading& r, const Value& list) {
  Layout& l = r.record().layout;
  const auto read = read_pipeline_layout(word_of(list));
  if (const auto* wrong = std::get_if<std::string>(&read)) fail_at(list, *wrong);
  l.pipeline_layout = std::get<PipelineLayout>(read);
  if (l.pipeline_layout.num_chunks() % l.pipeline_parallel_size != 0) {
    fail_at(list, fmt::format("{} chunks do not divide by the pipeline size {}",
                              l.pipeline_layout.num_chunks(), l.pipeline_parallel_size));
  }
  l.virtual_pipeline_parallel_size = l.pipeline_layout.num_chunks() / l.pipeline_parallel_size;
  r.note("pipeline_layout", std::string(l.pipeline_layout.text()), list);
}

void read_megatron_layout(LaunchReading& r, const Model& model) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  r.integer(l.tensor_parallel_size, "tensor_parallel_size", "tensor_model_parallel_size",
            kParallelSizes);
  r.flag(l.sequence_parallel, "sequence_parallel", "sequence_parallel");
  if (l.tensor_parallel_size == 1) l.sequence_parallel = false;  // arguments.py
  r.flag(l.tp_comm_overlap, "tp_comm_overlap", "tp_comm_overlap");
  read_pipeline(r, l, model.num_layers);
  read_megatron_context(r, l);
  r.integer(l.micro_batch_size, "micro_batch_size", "micro_batch_size", kParallelSizes);
  read_experts(r, l, model.moe.has_value());
  read_megatron_sharding(r, l);
  read_megatron_recompute(r, l);
  read_cuda_graphs(r, "");
  read_offload(r, l);
  if (r.is_on("use_tp_pp_dp_mapping")) {
    l.rank_order = kLauncherRankOrderNames[1].value;
    r.note("rank_order", "tp-cp-ep-pp-dp", *r.find("use_tp_pp_dp_mapping"));
  }
}

}  // namespace meshwright::interop
