// SPDX-License-Identifier: Apache-2.0
// accelerate's YAML: FSDP of version 1 and 2, its parallelism_config, and DeepSpeed by a few keys
// (examples/torch_native_parallelism/configs, examples/config_yaml_templates,
// src/accelerate/parallelism_config.py, commit 16cb6eb). Batch and sequence are the command's.
#include <algorithm>
#include <array>

#include "interop/read_launch/document.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"
#include "interop/read_launch/trainer.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr SizeKey kAccelerateSizes[] = {
    {&Layout::tensor_parallel_size, "tensor_parallel_size",
     "parallelism_config.parallelism_config_tp_size"},
    {&Layout::context_parallel_size, "context_parallel_size",
     "parallelism_config.parallelism_config_cp_size"},
};

constexpr const char* kNoRuns =
    "no runs of accelerate are known: predicted as its code and PyTorch's say, nothing fitted";

void settle(LaunchReading& r, std::initializer_list<const char*> fields) {
  for (const char* field : fields) r.settle_layout(field);
}

// Reads the exchange of keys and values, or Ulysses, which accelerate calls sequence parallelism.
void read_accelerate_context(LaunchReading& r) {
  Layout& l = r.record().layout;
  const std::string key = "parallelism_config.parallelism_config_cp_comm_strategy";
  if (l.context_parallel_size > 1) l.cp_comm_type = ContextParallelAlgorithm::all_gather;
  constexpr std::array kStrategies{EnumName{ContextParallelAlgorithm::all_gather, "allgather"},
                                   EnumName{ContextParallelAlgorithm::p2p, "alltoall"}};
  r.choice(l.cp_comm_type, "cp_comm_type", key, kStrategies);
  int ulysses = 1;
  const Value* size = r.find("parallelism_config.parallelism_config_sp_size");
  if (size != nullptr) ulysses = integer_of(*size, kParallelSizes);
  if (ulysses > 1) {
    if (l.context_parallel_size > 1) fail_at(*size, "beside context ranks it is not modelled");
    l.context_parallel_size = ulysses;
    l.cp_comm_type = ContextParallelAlgorithm::a2a;
    r.note("context_parallel_size", std::to_string(ulysses), *size);
  }
  settle(r, {"context_parallel_size"});
  if (l.context_parallel_size > 1) settle(r, {"cp_comm_type"});
}

void read_accelerate_sizes(LaunchReading& r) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  r.layout_sizes(kAccelerateSizes);
  read_accelerate_context(r);
  l.sequence_parallel = false;
  int shards = 0;
  r.integer(shards, "data_parallel_shard_size",
            "parallelism_config.parallelism_config_dp_shard_size", kParallelSizes);
  r.integer(record.replicas, "data_parallel_replicate_size",
            "parallelism_config.parallelism_config_dp_replicate_size", kParallelSizes);
  if (shards > 0) {
    record.data_parallel_size_follows = false;
    l.data_parallel_size = shards * record.replicas;
  }
  settle(r, {"tensor_parallel_size", "sequence_parallel", "data_parallel_size", "zero_shard_size"});
}

void read_strategy_1(LaunchReading& r, bool& hybrid) {
  const Value* strategy = r.find("fsdp_config.fsdp_sharding_strategy");
  if (strategy == nullptr) return;
  const auto known = fsdp_strategy(word_of(*strategy));
  if (!known) fail_at(*strategy, "is no sharding strategy that is known here");
  r.record().layout.zero_stage = known->zero_stage;
  hybrid = known->hybrid;
  r.note("zero_stage", std::to_string(known->zero_stage), *strategy);
}

void read_fsdp(LaunchReading& r, const Value& type) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  int version = 1;
  r.integer(version, "fsdp_version", "fsdp_config.fsdp_version", {1, 2});
  record.framework = version == 2 ? "accelerate-2026" : "pytorch-fsdp-2023";
  r.assume("framework", record.framework,
           version == 2 ? kNoRuns
                        : "no runs of accelerate are known; predicted as FSDP1 of PyTorch 2.0");
  l.fsdp_unit = FsdpUnit::block;
  r.note("fsdp_unit", "block", type);
  l.zero_stage = 3;
  bool hybrid = false;
  if (version == 1) read_strategy_1(r, hybrid);
  const Value* reshards = r.find("fsdp_config.fsdp_reshard_after_forward");
  if (reshards != nullptr && version == 2) {
    l.zero_stage = flag_of(*reshards) ? 3 : 2;
    r.note("zero_stage", std::to_string(l.zero_stage), *reshards);
  }
  if (l.zero_stage == 0) l.fsdp_unit = FsdpUnit::none;
  record.shards_in_node = hybrid;
  r.not_modelled_unless("fsdp_config.fsdp_auto_wrap_policy", {"TRANSFORMER_BASED_WRAP"});
  r.recompute_switch("fsdp_config.fsdp_activation_checkpointing");
  if (l.recompute_granularity == RecomputeGranularity::none) {
    r.assume("recompute_granularity", "none", "the model may switch it on, which no file shows");
  }
  const Value* offload = r.find("fsdp_config.fsdp_offload_params");
  if (offload != nullptr && flag_of(*offload)) {
    r.not_understood(*offload, "weights, gradients and optimizer on the host are not modelled");
  }
  settle(r, {"fsdp_unit", "zero_stage", "recompute_granularity"});
}

void read_replicas(LaunchReading& r, const Value& type) {
  LaunchRecord& record = r.record();
  record.framework = "accelerate-2026";
  r.assume("framework", record.framework, kNoRuns);
  record.layout.zero_stage = 0;
  r.note("zero_stage", "0", type);
  record.layout.fsdp_unit = FsdpUnit::none;
  settle(r, {"fsdp_unit", "zero_stage"});
}

// Its own few keys of DeepSpeed; a deepspeed_config_file says more and is read by the caller.
void read_deepspeed_keys(LaunchReading& r) {
  LaunchRecord& record = r.record();
  Layout& l = record.layout;
  record.framework = "deepspeed-2025";
  r.assume("framework", record.framework, "the file does not say which release runs");
  if (const Value* named = r.find("deepspeed_config.deepspeed_config_file")) {
    fail_at(*named, "this file says the sharding", "give it with --from");
  }
  l.zero_stage = 2;  // accelerate's default
  r.integer(l.zero_stage, "zero_stage", "deepspeed_config.zero_stage", {0, 3});
  l.overlap_grad_reduce = l.zero_stage == 3;
  const Value* device = r.find("deepspeed_config.offload_optimizer_device");
  l.optimizer_offload = device != nullptr && word_of(*device) != "none";
  if (l.optimizer_offload) r.note("optimizer_offload", "true", *device);
  const Value* weights = r.find("deepspeed_config.offload_param_device");
  if (weights != nullptr && word_of(*weights) != "none") {
    r.not_understood(*weights, "weights on the host are not modelled");
  }
  r.integer(record.micro_batches_a_rank, "gradient_accumulation_steps",
            "deepspeed_config.gradient_accumulation_steps", kParallelSizes);
  settle(r, {"zero_stage", "overlap_grad_reduce", "optimizer_offload"});
}

void read_compiler(LaunchReading& r) {
  const Value* backend = r.find("dynamo_config.dynamo_backend");
  if (backend == nullptr) return;
  const std::string word = word_of(*backend);
  const bool compiles = word != "NO" && word != "no" && word != "EAGER";
  KernelFusion& fusion = r.record().job.kernel_fusion;
  fusion = compiles ? KernelFusion::compiled : KernelFusion::transformers;
  r.note("kernel_fusion", std::string(name_of(fusion)), *backend);
  r.settle_job("kernel_fusion");
}

// Keys of the kinds of sharding that the file does not ask for, which accelerate does not read.
void pass_over_other_sharding(Values& values, const std::string& type) {
  if (type != "FSDP") values.pass_over_below("fsdp_config.");
  if (type != "DEEPSPEED") values.pass_over_below("deepspeed_config.");
  for (const char* key :
       {"fsdp_auto_wrap_policy", "fsdp_sharding_strategy", "fsdp_reshard_after_forward"}) {
    values.pass_over(std::string("fsdp_config.") + key);
  }
  values.pass_over_below("parallelism_config.parallelism_config_cp_");
  values.pass_over("dynamo_backend");
}

}  // namespace

std::optional<FsdpStrategy> fsdp_strategy(std::string_view word) {
  struct Named {
    std::string_view name, number;
    FsdpStrategy strategy;
  };
  constexpr std::array kStrategies{
      Named{"full_shard", "1", {3, false}}, Named{"shard_grad_op", "2", {2, false}},
      Named{"no_shard", "3", {0, false}}, Named{"hybrid_shard", "4", {3, true}},
      Named{"hybrid_shard_zero2", "5", {2, true}}};
  const std::string name = lower_case(word);
  for (const Named& known : kStrategies) {
    if (known.name == name || known.number == name) return known.strategy;
  }
  return std::nullopt;
}

void read_accelerate_precision(LaunchReading& r) {
  Job& job = r.record().job;
  job.precision = Precision::fp32;
  constexpr std::array kWords{EnumName{Precision::fp32, "no"}, EnumName{Precision::bf16, "bf16"},
                              EnumName{Precision::fp16, "fp16"}, EnumName{Precision::fp8, "fp8"}};
  r.choice(job.precision, "precision", "mixed_precision", kWords);
  r.settle_job("precision");
  // FSDP reduces in the type that it computes in; replicas keep gradients of fp32 weights.
  const bool half = job.precision == Precision::bf16 || job.precision == Precision::fp16;
  const bool fsdp = r.record().layout.fsdp_unit == FsdpUnit::block;
  job.gradient_precision = fsdp && half ? job.precision : Precision::fp32;
  if (fsdp && half) {
    r.assume("gradient_precision", std::string(name_of(job.precision)),
             "FullyShardedDataParallelPlugin.set_mixed_precision reduces in the type of "
             "mixed_precision");
  }
  if (fsdp) r.settle_job("gradient_precision");
}

namespace {

void read_accelerate_devices(LaunchReading& r) {
  LaunchRecord& record = r.record();
  int machines = 1;
  r.integer(machines, "num_nodes", "num_machines", kParallelSizes);
  if (r.integer(record.gpus, "gpus", "num_processes", kParallelSizes)) {
    record.gpus_per_node = std::max(1, record.gpus / machines);
  }
}

}  // namespace

void read_accelerate_beside_deepspeed(LaunchReading& r) {
  read_accelerate_devices(r);
  read_accelerate_sizes(r);
  if (!r.record().says_job("precision")) read_accelerate_precision(r);
  r.values().pass_over("distributed_type");
  r.values().pass_over_below("deepspeed_config.");
  pass_over_other_sharding(r.values(), "DEEPSPEED");
  r.list_words(launcher_words("accelerate"));
  r.list_unused("no key of accelerate that is known here");
}

void read_accelerate_yaml(LaunchReading& r) {
  LaunchRecord& record = r.record();
  record.target = "accelerate";
  record.job.name = "the launched job";
  read_accelerate_devices(r);
  read_accelerate_sizes(r);
  const Value* type = r.find("distributed_type");
  const std::string word = type == nullptr ? "" : word_of(*type);
  if (word == "FSDP") {
    read_fsdp(r, *type);
  } else if (word == "MULTI_GPU" || word == "NO") {
    read_replicas(r, *type);
  } else if (word == "DEEPSPEED") {
    read_deepspeed_keys(r);
  } else if (type != nullptr) {
    fail_at(*type, "FSDP, MULTI_GPU and DEEPSPEED are read",
            word == "MEGATRON_LM" ? "ask about the same sizes by meshwright estimate --tp T --pp P"
                                  : "");
  }
  read_accelerate_precision(r);
  read_compiler(r);
  pass_over_other_sharding(r.values(), word);
  r.list_words(launcher_words("accelerate"));
}

LaunchRecord read_accelerate(std::string_view text, const std::string& file,
                             const LaunchHints& hints) {
  Values values = with_stated(values_of_yaml(text, file), hints);
  LaunchRecord record;
  LaunchReading reading(values, record);
  read_accelerate_yaml(reading);
  set_sequence_beside(record, hints, file);
  assume_batch(record, "the command says it (--per_device_train_batch_size), not this file");
  reading.list_unused("no key of accelerate that is known here");
  return record;
}

namespace {

bool is_accelerate(const LaunchText& text) {
  return has_key(text, "distributed_type") &&
         has_any(text,
                 {"fsdp_config.", "num_processes", "parallelism_config.", "deepspeed_config."});
}

}  // namespace

extern const LaunchFormat kAccelerateFormat;
constexpr LaunchFormat kAccelerateFormat{
    is_accelerate, [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile&) {
      return read_accelerate(t.text, t.file, hints);
    }};

}  // namespace meshwright::interop
