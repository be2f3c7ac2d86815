// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's JSON (docs/_pages/config-json.md, runtime/config.py, commit edaa722).
#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"
#include "interop/read_launch/trainer.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// "auto" is Hugging Face's: the command says it.
bool is_auto(const Value* value) {
  return value != nullptr && value->words.size() == 1 && value->words.front() == "auto";
}

int count_at(LaunchReading& r, const char* field, const char* key) {
  const Value* value = r.find(key);
  int count = 0;
  if (value == nullptr || is_auto(value)) return 0;
  count = integer_of(*value, kCounts);
  r.note(field, std::to_string(count), *value);
  return count;
}

// train_batch_size = micro x accumulation x data ranks: two of the three, and the ranks, suffice.
void read_deepspeed_batch(LaunchReading& r) {
  LaunchRecord& record = r.record();
  const int global = count_at(r, "global_batch_size", "train_batch_size");
  const int micro = count_at(r, "micro_batch_size", "train_micro_batch_size_per_gpu");
  const int accumulation =
      count_at(r, "gradient_accumulation_steps", "gradient_accumulation_steps");
  if (micro > 0) record.layout.micro_batch_size = micro;
  if (global > 0) record.job.global_batch_size = global;
  if (micro > 0) r.settle_layout("micro_batch_size");
  if (global > 0) r.settle_job("global_batch_size");
  if (global == 0 && (micro > 0 || accumulation > 0)) {
    record.micro_batches_a_rank = std::max(1, accumulation);
  }
  if (micro == 0 && global > 0 && accumulation > 0) record.accumulation_of_global = accumulation;
}

void read_zero(LaunchReading& r) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  const std::string at = "zero_optimization.";
  r.integer(l.zero_stage, "zero_stage", at + "stage", {0, 3});
  const Value* overlap = r.find(at + "overlap_comm");
  l.overlap_grad_reduce = l.zero_stage == 3;
  if (overlap != nullptr && !is_auto(overlap)) {
    r.flag(l.overlap_grad_reduce, "overlap_grad_reduce", at + "overlap_comm");
  } else {
    r.assume("overlap_grad_reduce", l.overlap_grad_reduce ? "true" : "false",
             "DeepSpeed overlaps at stage 3 unless told");
  }
  int shard = -1;
  const Value* mics = r.find(at + "mics_shard_size");
  if (mics != nullptr) shard = integer_of(*mics, {-1, kCounts.high});
  if (shard > 0) {
    l.zero_shard_size = shard;
    r.note("zero_shard_size", std::to_string(shard), *mics);
  }
  const Value* optimizer = r.find(at + "offload_optimizer.device");
  if (optimizer != nullptr && word_of(*optimizer) != "none") {
    l.optimizer_offload = true;
    r.note("optimizer_offload", word_of(*optimizer), *optimizer);
  }
  if (r.is_on(at + "cpu_offload")) {  // of 2020
    l.optimizer_offload = true;
    r.note("optimizer_offload", "true", *r.find(at + "cpu_offload"));
  }
  for (const char* key : {"zero_hpz_partition_size", "zero_quantized_weights",
                          "zero_quantized_gradients", "offload_param.device"}) {
    const Value* value = r.find(at + key);
    if (value == nullptr) continue;
    const bool off =
        value->words.size() == 1 && (value->words.front() == "false" ||
                                     value->words.front() == "1" || value->words.front() == "none");
    if (!off) r.not_understood(*value, "it changes cost or memory in a way that is not modelled");
  }
  for (const char* name :
       {"stage3_", "offload_optimizer.", "offload_param.", "allgather_", "reduce_",
        "contiguous_gradients", "sub_group_size", "load_from_fp32_weights", "elastic_checkpoint",
        "ignore_unused_parameters", "legacy_stage1", "log_trace_cache_warnings", "leaf_module",
        "override_module_apply", "pipeline_loading_checkpoint", "grad_hooks", "use_all_reduce"}) {
    r.values().pass_over_below(at + name);
  }
  for (const char* field :
       {"zero_stage", "overlap_grad_reduce", "zero_shard_size", "optimizer_offload"}) {
    r.settle_layout(field);
  }
}

// Adam of any kind is priced as Adam.
void read_deepspeed_optimizer(LaunchReading& r) {
  const Value* type = r.find("optimizer.type");
  if (type == nullptr || is_auto(type)) return;
  const std::string word = lower_case(word_of(*type));
  r.note("optimizer", word, *type);
  if (word == "sgd") {
    r.record().job.optimizer = Optimizer::sgd;
    r.settle_job("optimizer");
  } else if (word != "adam" && word != "adamw" && word != "fusedadam" && word != "cpuadam") {
    r.not_understood(*type, "predicted as Adam", OptionEffect::optimizer);
  }
}

void list_deepspeed_unmodelled(LaunchReading& r) {
  for (const char* key :
       {"activation_checkpointing.partition_activations",
        "activation_checkpointing.cpu_checkpointing", "zero_optimization.round_robin_gradients",
        "zero_optimization.cpu_offload_params", "zero_optimization.offload_optimizer.ratio",
        "bf16.bf16_master_weights_and_grads", "bf16.bf16_optimizer_states"}) {
    r.not_modelled_unless(key);
  }
  r.not_modelled_unless("data_types.grad_accum_dtype", {"fp32"});
  r.not_modelled_unless("communication_data_type", {"fp32"});
}

void read_deepspeed_precision(LaunchReading& r) {
  Job& job = r.record().job;
  for (const auto& [key, precision] : {std::pair{"fp16.enabled", Precision::fp16},
                                       {"bf16.enabled", Precision::bf16},
                                       {"bfloat16.enabled", Precision::bf16}}) {
    const Value* value = r.find(key);
    if (value == nullptr || is_auto(value) || !flag_of(*value)) continue;
    job.precision = precision;
    r.note("precision", std::string(name_of(precision)), *value);
    r.settle_job("precision");
  }
}

void read_deepspeed_sizes(LaunchReading& r) {
  Layout& l = r.record().layout;
  const Value* tensor = r.find("tensor_parallel.autotp_size");
  if (tensor == nullptr) tensor = r.find("tensor_parallel.tp.tp_size");
  if (tensor != nullptr) {
    l.tensor_parallel_size = std::max(1, integer_of(*tensor, {0, 1'000'000}));
    r.note("tensor_parallel_size", std::to_string(l.tensor_parallel_size), *tensor);
  }
  if (r.integer(l.context_parallel_size, "context_parallel_size", "sequence_parallel_size",
                kCounts)) {
    l.cp_comm_type = ContextParallelAlgorithm::a2a;
    r.settle_layout("cp_comm_type");
  }
  if (r.values().has("pipeline.stages") || r.values().has("expert_parallel.autoep_size")) {
    for (const char* key : {"pipeline.stages", "expert_parallel.autoep_size"}) {
      if (const Value* value = r.find(key))
        r.not_understood(*value, "its sizes are made in Python");
    }
  }
  l.sequence_parallel = false;
  for (const char* field : {"tensor_parallel_size", "context_parallel_size", "sequence_parallel"}) {
    r.settle_layout(field);
  }
}

}  // namespace

void read_deepspeed_json(LaunchReading& r) {
  LaunchRecord& record = r.record();
  record.target = "DeepSpeed";
  record.framework = "deepspeed-2025";
  record.job.name = "the launched job";
  r.assume("framework", record.framework, "the file does not say which release runs");
  read_deepspeed_batch(r);
  list_deepspeed_unmodelled(r);
  read_zero(r);
  read_deepspeed_precision(r);
  read_deepspeed_optimizer(r);
  read_deepspeed_sizes(r);
  for (const char* section :
       {"optimizer.", "scheduler.", "activation_checkpointing.", "flops_profiler.", "tensorboard.",
        "wandb.", "csv_monitor.", "comms_logger.", "aio.", "fp16.", "bf16.", "bfloat16.",
        "data_types.", "checkpoint.", "pipeline.", "expert_parallel.", "tensor_parallel.",
        "monitor_config."}) {
    r.values().pass_over_below(section);
  }
  for (const char* key :
       {"gradient_clipping", "steps_per_print", "wall_clock_breakdown", "dump_state",
        "prescale_gradients", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer",
        "memory_breakdown", "gradient_predivide_factor"}) {
    r.values().pass_over(key);
  }
}

LaunchRecord read_deepspeed(std::string_view text, const std::string& file,
                            const LaunchHints& hints) {
  Values values = with_stated(values_of_json(text, file), hints);
  LaunchRecord record;
  LaunchReading reading(values, record);
  read_deepspeed_json(reading);
  const Value* micro = reading.find("train_micro_batch_size_per_gpu");
  assume_batch(record, is_auto(micro) ? "the file says auto" : "the file does not say it");
  set_sequence_beside(record, hints, file);
  assume_recompute(reading, false, "the model switches it on, not this file");
  reading.list_unused("no key of DeepSpeed that is known here");
  return record;
}

namespace {

bool is_deepspeed(const LaunchText& text) {
  return text.kind == LaunchTextKind::json &&
         has_any(text,
                 {"train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization."});
}

}  // namespace

extern const LaunchFormat kDeepspeedFormat;
constexpr LaunchFormat kDeepspeedFormat{
    is_deepspeed, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_deepspeed(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
