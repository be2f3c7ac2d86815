// SPDX-License-Identifier: Apache-2.0
// Overrides of Megatron-Bridge (docs/megatron-lm-to-megatron-bridge.md, commit 067f987): a YAML of
// model:, train:, ddp:, optimizer:, comm_overlap:. The recipe has the model: it is named beside
// them, and what they leave out is as Megatron Core has it.
#include "interop/read_launch/megatron_bridge.h"

#include <algorithm>
#include <array>

#include "interop/read_launch/bridge_precision.h"
#include "interop/read_launch/bridge_values.h"
#include "interop/read_launch/document.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/megatron_fields.h"
#include "interop/read_launch/stated_values.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/layout/fields.h"

namespace meshwright::interop {
namespace {

constexpr SizeKey kBridgeSizes[] = {
    {&Layout::tensor_parallel_size, "tensor_parallel_size", "model.tensor_model_parallel_size"},
    {&Layout::pipeline_parallel_size, "pipeline_parallel_size",
     "model.pipeline_model_parallel_size"},
    {&Layout::virtual_pipeline_parallel_size, "virtual_pipeline_parallel_size",
     "model.virtual_pipeline_model_parallel_size"},
    {&Layout::context_parallel_size, "context_parallel_size", "model.context_parallel_size"},
    {&Layout::expert_parallel_size, "expert_parallel_size", "model.expert_model_parallel_size"},
    {&Layout::expert_tensor_parallel_size, "expert_tensor_parallel_size",
     "model.expert_tensor_parallel_size"},
    {&Layout::num_layers_in_first_pipeline_stage, "num_layers_in_first_pipeline_stage",
     "model.num_layers_in_first_pipeline_stage"},
    {&Layout::num_layers_in_last_pipeline_stage, "num_layers_in_last_pipeline_stage",
     "model.num_layers_in_last_pipeline_stage"},
    {&Layout::cpu_offloading_num_layers, "cpu_offloading_num_layers",
     "model.cpu_offloading_num_layers"},
    {&Layout::micro_batch_size, "micro_batch_size", "train.micro_batch_size"},
};

struct SwitchKey {
  bool Layout::*member;
  const char *field, *key;
};
constexpr SwitchKey kSwitches[] = {
    {&Layout::sequence_parallel, "sequence_parallel", "model.sequence_parallel"},
    {&Layout::account_for_embedding_in_pipeline_split, "account_for_embedding_in_pipeline_split",
     "model.account_for_embedding_in_pipeline_split"},
    {&Layout::account_for_loss_in_pipeline_split, "account_for_loss_in_pipeline_split",
     "model.account_for_loss_in_pipeline_split"},
    {&Layout::tp_comm_overlap, "tp_comm_overlap", "comm_overlap.tp_comm_overlap"},
    {&Layout::optimizer_offload, "optimizer_offload", "optimizer.optimizer_cpu_offload"},
    {&Layout::overlap_moe_expert_parallel_comm, "overlap_moe_expert_parallel_comm",
     "comm_overlap.overlap_moe_expert_parallel_comm"},
    {&Layout::moe_shared_expert_overlap, "moe_shared_expert_overlap",
     "model.moe_shared_expert_overlap"},
    {&Layout::delay_wgrad_compute, "delay_wgrad_compute", "comm_overlap.delay_wgrad_compute"},
    {&Layout::delay_wgrad_compute, "delay_wgrad_compute", "model.delay_wgrad_compute"},
};

constexpr SwitchKey kOverlaps[] = {
    {&Layout::overlap_grad_reduce, "overlap_grad_reduce", "overlap_grad_reduce"},
    {&Layout::overlap_param_gather, "overlap_param_gather", "overlap_param_gather"},
};

void read_megatron_bridge_sharding(LaunchReading& r) {
  Layout& l = r.record().layout;
  const Value* buffers = r.find("ddp.use_distributed_optimizer");
  const Value* states = r.find("optimizer.use_distributed_optimizer");
  if (buffers == nullptr && states == nullptr) return;
  const bool both =
      buffers != nullptr && states != nullptr && flag_of(*buffers) == flag_of(*states);
  if (!both) {
    fail_at(buffers != nullptr ? *buffers : *states,
            "ddp.use_distributed_optimizer and optimizer.use_distributed_optimizer go together");
  }
  l.zero_stage = flag_of(*buffers) ? 1 : 0;
  r.note("zero_stage", std::to_string(l.zero_stage), *buffers);
  r.settle_layout("zero_stage");
}

// Where comm_overlap is set, it overrules ddp for the sharded optimizer, and overlaps unless told
// not to (training/comm_overlap.py, _get_optimizer_overlap_cfgs).
void read_overlaps(LaunchReading& r) {
  Layout& l = r.record().layout;
  const auto& all = r.values().all();
  const bool overrules =
      l.zero_stage > 0 && std::any_of(all.begin(), all.end(), [](const Value& v) {
        return v.key.starts_with("comm_overlap.");
      });
  for (const SwitchKey& key : kOverlaps) {
    const std::string name = key.field;
    bool ignored = false;  // without a sharded optimizer
    const bool ddp = r.flag(l.*key.member, name, "ddp." + name);
    const bool beside = r.flag(overrules ? l.*key.member : ignored, name, "comm_overlap." + name);
    if (overrules && !beside) {
      l.*key.member = true;
      r.assume(name, "true", "comm_overlap switches it on unless it says otherwise");
    }
    if (ddp || beside || overrules) r.settle_layout(name);
  }
}

template <typename Names>
unsigned module_bits(const Value& modules, const Names& names) {
  unsigned bits = 0;
  for (const std::string& word : modules.words) {
    const auto* const known = std::find_if(names.begin(), names.end(),
                                           [&](const auto& entry) { return entry.name == word; });
    if (known == names.end()) fail_at(modules, word + " is no module that is known here");
    bits |= known->value;
  }
  return bits;
}

void read_megatron_bridge_recompute(LaunchReading& r) {
  Layout& l = r.record().layout;
  if (r.choice(l.recompute_granularity, "recompute_granularity", "model.recompute_granularity",
               kRecomputeGranularityNames)) {
    r.settle_layout("recompute_granularity");
  }
  if (r.choice(l.recompute_method, "recompute_method", "model.recompute_method",
               kRecomputeMethodNames)) {
    r.settle_layout("recompute_method");
  }
  int layers = 0;
  if (r.integer(layers, "recompute_num_layers", "model.recompute_num_layers", kParallelSizes) &&
      l.recompute_method == RecomputeMethod::block) {
    l.recompute_num_layers = layers * l.virtual_pipeline_parallel_size;
    r.settle_layout("recompute_num_layers");
  }
  const Value* modules = r.find("model.recompute_modules");
  if (modules == nullptr) return;
  const unsigned bits = module_bits(*modules, kRecomputeModuleNames);
  l.recompute_modules = {static_cast<std::uint8_t>(bits)};
  r.note("recompute_modules", fmt::format("{}", fmt::join(modules->words, "+")), *modules);
  r.settle_layout("recompute_modules");
}

constexpr std::array kBridgeShardingNames{EnumName{0, "no_shard"}, EnumName{1, "optim"},
                                          EnumName{2, "optim_grads"},
                                          EnumName{3, "optim_grads_params"}};

// Megatron-FSDP: stage 3 unless the strategy says another.
void read_bridge_fsdp(LaunchReading& r) {
  const char* const key =
      r.is_on("ddp.use_megatron_fsdp") ? "ddp.use_megatron_fsdp" : "dist.use_megatron_fsdp";
  const bool fsdp = r.is_on(key);
  for (const char* other : {"ddp.use_megatron_fsdp", "dist.use_megatron_fsdp"}) {
    r.values().pass_over(other);
  }
  const Value* strategy = r.find("ddp.data_parallel_sharding_strategy");
  if (!fsdp) return;
  Layout& l = r.record().layout;
  l.zero_stage = 3;
  const bool says = strategy != nullptr && word_of(*strategy) != "no_shard";
  if (!says || !r.choice(l.zero_stage, "zero_stage", "ddp.data_parallel_sharding_strategy",
                         kBridgeShardingNames)) {
    r.note("zero_stage", "3", *r.find(key));
  }
  r.settle_layout("zero_stage");
}

constexpr std::array kBridgeCpNames{EnumName{ContextParallelAlgorithm::p2p, "p2p"},
                                    EnumName{ContextParallelAlgorithm::all_gather, "allgather"},
                                    EnumName{ContextParallelAlgorithm::all_gather, "all_gather"},
                                    EnumName{ContextParallelAlgorithm::a2a, "a2a"},
                                    EnumName{ContextParallelAlgorithm::a2a_p2p, "a2a+p2p"}};

void read_bridge_context(LaunchReading& r) {
  Layout& l = r.record().layout;
  if (l.context_parallel_size == 1) r.values().pass_over("model.cp_comm_type");
  if (l.context_parallel_size > 1 &&
      r.choice(l.cp_comm_type, "cp_comm_type", "model.cp_comm_type", kBridgeCpNames)) {
    r.settle_layout("cp_comm_type");
  }
  const Value* sizes = r.find("model.hierarchical_context_parallel_sizes");
  if (sizes == nullptr || sizes->words.empty()) return;
  Value inner = *sizes;
  inner.words.resize(1);
  l.hierarchical_context_parallel_size = integer_of(inner, kParallelSizes);
  r.settle_layout("hierarchical_context_parallel_size");
}

// "Et|(tt|)*30L", or a list of the parts of each chunk.
void read_bridge_stages(LaunchReading& r) {
  const Value* list = r.find("model.pipeline_model_parallel_layout");
  if (list == nullptr) return;
  read_chunk_list(r, *list);
  for (const char* field : {"pipeline_layout", "virtual_pipeline_parallel_size"}) {
    r.settle_layout(field);
  }
}

void read_bridge_offload(LaunchReading& r) {
  Layout& l = r.record().layout;
  const Value* modules = r.find("model.offload_modules");
  const bool fine = r.is_on("model.fine_grained_activation_offloading");
  if (fine && modules != nullptr) {
    l.offload_modules = {static_cast<std::uint8_t>(module_bits(*modules, kOffloadModuleNames))};
    r.note("offload_modules", fmt::format("{}", fmt::join(modules->words, "+")), *modules);
    r.settle_layout("offload_modules");
  }
  const Value* layers = r.find("model.cpu_offloading");
  if (layers != nullptr && !flag_of(*layers)) {
    l.cpu_offloading_num_layers = 0;
    r.settle_layout("cpu_offloading_num_layers");
  }
  r.not_modelled_unless("optimizer.optimizer_offload_fraction", {"1.0"});
}

// SMs of dispatchers are the framework's: those of Megatron-Bridge's own recipes.
void read_dispatcher_sms(LaunchReading& r) {
  for (const char* key : {"model.moe_flex_dispatcher_num_sms", "model.moe_hybridep_num_sms",
                          "model.moe_deepep_num_sms"}) {
    const Value* sms = r.find(key);
    if (sms == nullptr) continue;
    const int count = integer_of(*sms, {1, 1024});
    const bool usual = count == 16 || count == 20 || count == 24 || count == 32;
    if (usual) {
      r.note("dispatcher_sms", std::to_string(count), *sms);
    } else {
      r.not_understood(*sms, "predicted with the framework's", OptionEffect::schedule);
    }
  }
}

void read_bridge_experts(LaunchReading& r) {
  Layout& l = r.record().layout;
  if (r.is_on("model.moe_enable_deepep")) {
    l.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
    l.moe_flex_dispatcher_backend = MoeFlexDispatcherBackend::deepep;
    r.note("moe_flex_dispatcher_backend", "deepep", *r.find("model.moe_enable_deepep"));
    for (const char* field : {"moe_token_dispatcher_type", "moe_flex_dispatcher_backend"}) {
      r.settle_layout(field);
    }
  }
  if (r.choice(l.moe_token_dispatcher_type, "moe_token_dispatcher_type",
               "model.moe_token_dispatcher_type", kMoeTokenDispatcherTypeNames)) {
    r.settle_layout("moe_token_dispatcher_type");
  }
  if (r.choice(l.moe_flex_dispatcher_backend, "moe_flex_dispatcher_backend",
               "model.moe_flex_dispatcher_backend", kMoeFlexDispatcherBackendNames)) {
    r.settle_layout("moe_flex_dispatcher_backend");
  }
  for (const char* key : {"model.overlap_moe_expert_parallel_comm", "model.moe_a2a_overlap"}) {
    if (!r.is_on(key)) continue;
    l.overlap_moe_expert_parallel_comm = true;
    r.note("overlap_moe_expert_parallel_comm", "true", *r.find(key));
    r.settle_layout("overlap_moe_expert_parallel_comm");
  }
  read_router_dtype(r, "model.moe_router_dtype");
  read_dispatcher_sms(r);
}

// comm_overlap.py switches it off without sequence parallelism and a tensor size above 1, and
// Megatron Core has no sequence parallelism without tensor parallelism.
void settle_tensor_overlap(LaunchReading& r) {
  Layout& l = r.record().layout;
  if (l.tensor_parallel_size == 1 && l.sequence_parallel) l.sequence_parallel = false;
  if (l.tp_comm_overlap && !l.sequence_parallel) {
    l.tp_comm_overlap = false;
    r.assume("tp_comm_overlap", "false",
             "Megatron-Bridge switches it off without tensor and sequence parallelism");
  }
}

}  // namespace

LaunchRecord read_megatron_bridge(std::string_view text, const std::string& file,
                                  const LaunchHints& hints) {
  LaunchRecord record;
  const Values stated = with_stated(values_of_yaml(text, file), hints);
  read_megatron_bridge_values(with_references(stated, hints.variables), hints, record);
  return record;
}

void read_megatron_bridge_values(Values typed, const LaunchHints& hints, LaunchRecord& record) {
  Values values = plain_bridge_values(typed);
  record.target = "Megatron-Bridge";
  record.framework = "megatron-core-2026";
  LaunchReading reading(values, record);
  reading.assume("framework", record.framework, "the file does not say which release runs");
  reading.assume("what the file leaves out", "Megatron Core's", "the recipe may say otherwise");
  Layout& l = record.layout;
  reading.layout_sizes(kBridgeSizes);
  for (const SwitchKey& key : kSwitches) {
    if (reading.flag(l.*key.member, key.field, key.key)) reading.settle_layout(key.field);
  }
  settle_tensor_overlap(reading);
  if (l.expert_tensor_parallel_size == l.tensor_parallel_size) l.expert_tensor_parallel_size = 0;
  read_bridge_stages(reading);
  l.schedule = implied_schedule(l.virtual_pipeline_parallel_size);
  l.overlap_p2p_comm = l.virtual_pipeline_parallel_size > 1;
  for (const char* key : {"comm_overlap.overlap_p2p_comm", "model.overlap_p2p_comm"}) {
    bool overlaps = false;
    if (reading.flag(overlaps, "overlap_p2p_comm", key)) {
      l.overlap_p2p_comm = overlaps && l.virtual_pipeline_parallel_size > 1;
    }
  }
  for (const char* field : {"schedule", "overlap_p2p_comm"}) reading.settle_layout(field);
  read_bridge_experts(reading);
  read_environment(values, "env_vars.", record);
  read_megatron_bridge_sharding(reading);
  read_bridge_fsdp(reading);
  if (reading.integer(record.replicas, "num_distributed_optimizer_instances",
                      "ddp.num_distributed_optimizer_instances", kParallelSizes)) {
    reading.settle_layout("zero_shard_size");
  }
  read_overlaps(reading);
  read_megatron_bridge_recompute(reading);
  read_cuda_graphs(reading, "model.");
  read_bridge_context(reading);
  read_bridge_offload(reading);
  read_megatron_bridge_job(reading, hints);
  check_bridge_model(values, hints);
  pass_over_bridge(values);
  reading.list_words(launcher_words("megatron-bridge"));
  reading.list_unused("no override of Megatron-Bridge that is known here");
}

namespace {

bool says_bridge_sizes(const LaunchText& text) {
  return has_any(text, {"model.tensor_model_parallel_size", "model.pipeline_model_parallel_size",
                        "train.micro_batch_size", "train.global_batch_size"});
}

}  // namespace

extern const LaunchFormat kMegatronBridgeFormat;
constexpr LaunchFormat kMegatronBridgeFormat{
    [](const LaunchText& t) { return is_document(t) && says_bridge_sizes(t); },
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_megatron_bridge(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
