// SPDX-License-Identifier: Apache-2.0
// Overrides of Megatron-Bridge (docs/megatron-lm-to-megatron-bridge.md, commit 067f987): a YAML of
// model:, train:, ddp:, optimizer:, comm_overlap:. The recipe has the model: it is named beside
// them, and what they leave out is as Megatron Core has it.
#include "interop/read_launch/megatron_bridge.h"

#include <algorithm>

#include "interop/read_launch/document.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
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
  unsigned bits = 0;
  for (const std::string& word : modules->words) {
    const auto* const known =
        std::find_if(kRecomputeModuleNames.begin(), kRecomputeModuleNames.end(),
                     [&](const auto& entry) { return entry.name == word; });
    if (known == kRecomputeModuleNames.end()) fail_at(*modules, word + " is no module");
    bits |= known->value;
  }
  l.recompute_modules = {static_cast<std::uint8_t>(bits)};
  r.note("recompute_modules", fmt::format("{}", fmt::join(modules->words, "+")), *modules);
  r.settle_layout("recompute_modules");
}

void read_megatron_bridge_job(LaunchReading& r, const LaunchHints& hints) {
  Job& job = r.record().job;
  if (r.integer(job.global_batch_size, "global_batch_size", "train.global_batch_size",
                kParallelSizes)) {
    r.settle_job("global_batch_size");
  }
  if (hints.seq_length) job.seq_length = *hints.seq_length;
  const bool said =
      r.integer(job.seq_length, "seq_length", "model.seq_length", {1, 100'000'000}) ||
      r.integer(job.seq_length, "seq_length", "dataset.seq_length", {1, 100'000'000}) ||
      r.integer(job.seq_length, "seq_length", "dataset.sequence_length", {1, 100'000'000});
  if (said || hints.seq_length) r.settle_job("seq_length");
  const Value* mixed = r.find("mixed_precision");
  if (mixed == nullptr) return;
  const std::string word = word_of(*mixed);
  const bool fp8 = contains(word, "fp8");
  job.precision = fp8                        ? Precision::fp8
                  : word.starts_with("fp16") ? Precision::fp16
                                             : Precision::bf16;
  r.note("precision", std::string(name_of(job.precision)), *mixed);
  r.settle_job("precision");
}

}  // namespace

LaunchRecord read_megatron_bridge(std::string_view text, const std::string& file,
                                  const LaunchHints& hints) {
  LaunchRecord record;
  read_megatron_bridge_values(values_of_yaml(text, file), hints, record);
  return record;
}

void read_megatron_bridge_values(Values values, const LaunchHints& hints, LaunchRecord& record) {
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
  if (l.expert_tensor_parallel_size == l.tensor_parallel_size) l.expert_tensor_parallel_size = 0;
  l.schedule = implied_schedule(l.virtual_pipeline_parallel_size);
  l.overlap_p2p_comm = l.virtual_pipeline_parallel_size > 1;
  for (const char* field : {"schedule", "overlap_p2p_comm"}) reading.settle_layout(field);
  if (reading.choice(l.moe_token_dispatcher_type, "moe_token_dispatcher_type",
                     "model.moe_token_dispatcher_type", kMoeTokenDispatcherTypeNames)) {
    reading.settle_layout("moe_token_dispatcher_type");
  }
  if (reading.choice(l.moe_flex_dispatcher_backend, "moe_flex_dispatcher_backend",
                     "model.moe_flex_dispatcher_backend", kMoeFlexDispatcherBackendNames)) {
    reading.settle_layout("moe_flex_dispatcher_backend");
  }
  read_environment(values, "env_vars.", record);
  read_megatron_bridge_sharding(reading);
  read_overlaps(reading);
  read_megatron_bridge_recompute(reading);
  read_megatron_bridge_job(reading, hints);
  for (const char* section :
       {"scheduler.", "logger.", "checkpoint.", "dataset.", "tokenizer.", "rng.", "profiling.",
        "dist.", "train.train_iters", "train.eval_", "train.manual_gc"}) {
    values.pass_over_below(section);
  }
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
