// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/app/launch_names.h"

#include <algorithm>
#include <array>
#include <span>

#include "interop/read_launch/megatron_arguments.h"

namespace meshwright::interop {
namespace {

// clang-format off
constexpr std::string_view kBridge = "067f987 (2026-08-22)",
    kBridgeDocs = "docs/megatron-lm-to-megatron-bridge.md",
    kBridgeOverlap = "src/megatron/bridge/training/comm_overlap.py",
    kBridgePrecision = "src/megatron/bridge/training/mixed_precision.py",
    // Files of Megatron Core, whose fields its providers inherit.
    kCoreParallel = "megatron/core/model_parallel_config.py",
    kCoreTransformer = "megatron/core/transformer/transformer_config.py",
    kCoreOptimizer = "megatron/core/optimizer/optimizer_config.py";
constexpr LaunchName kMegatronBridge[] = {
    {"model.tensor_model_parallel_size", kBridge, kBridgeDocs},
    {"model.pipeline_model_parallel_size", kBridge, kBridgeDocs},
    {"model.virtual_pipeline_model_parallel_size", kBridge, kCoreParallel},
    {"model.context_parallel_size", kBridge, kBridgeDocs},
    {"model.sequence_parallel", kBridge, kBridgeDocs},
    {"model.num_layers_in_first_pipeline_stage", kBridge, kCoreTransformer},
    {"model.num_layers_in_last_pipeline_stage", kBridge, kCoreTransformer},
    {"model.account_for_embedding_in_pipeline_split", kBridge, kBridgeDocs},
    {"model.account_for_loss_in_pipeline_split", kBridge, kBridgeDocs},
    {"model.expert_model_parallel_size", kBridge, kBridgeDocs},
    {"model.expert_tensor_parallel_size", kBridge, kBridgeDocs},
    {"model.moe_token_dispatcher_type", kBridge, kBridgeDocs},
    {"model.moe_flex_dispatcher_backend", kBridge, kBridgeDocs},
    {"model.moe_shared_expert_overlap", kBridge, kCoreTransformer},
    {"model.recompute_granularity", kBridge, kCoreTransformer},
    {"model.recompute_method", kBridge, kCoreTransformer},
    {"model.recompute_modules", kBridge, kCoreTransformer},
    {"model.recompute_num_layers", kBridge, kCoreTransformer},
    {"model.cpu_offloading", kBridge, kCoreParallel},
    {"model.cpu_offloading_num_layers", kBridge, kCoreParallel},
    {"model.seq_length", kBridge, kBridgeDocs},
    {"comm_overlap.overlap_grad_reduce", kBridge, kBridgeOverlap},
    {"comm_overlap.overlap_moe_expert_parallel_comm", kBridge, kBridgeOverlap},
    {"comm_overlap.overlap_param_gather", kBridge, kBridgeOverlap},
    {"comm_overlap.tp_comm_overlap", kBridge, kBridgeOverlap},
    {"dataset.seq_length", kBridge, kBridgeDocs},
    {"ddp.use_distributed_optimizer", kBridge, kBridgeDocs},
    {"ddp.overlap_grad_reduce", kBridge, kBridgeDocs},
    {"ddp.overlap_param_gather", kBridge, kBridgeDocs},
    {"optimizer.use_distributed_optimizer", kBridge, kBridgeDocs},
    {"optimizer.optimizer_cpu_offload", kBridge, kCoreOptimizer},
    {"optimizer.optimizer_offload_fraction", kBridge, kCoreOptimizer},
    {"train.micro_batch_size", kBridge, kBridgeDocs},
    {"train.global_batch_size", kBridge, kBridgeDocs},
    {"mixed_precision", kBridge, kBridgePrecision},
};

// Older names stood in the file of 2023; those that came with Megatron Core were seen in
// megatron_mamba_config.yaml of 2024 and in launchers' configurations.
constexpr std::string_view kNemo = "000763d (2023)", kNemoCore = "08790d9 (2024)",
    kNemoYaml = "examples/nlp/language_modeling/conf/megatron_gpt_config.yaml";
constexpr LaunchName kNeMo[] = {
    {"model.tensor_model_parallel_size", kNemo, kNemoYaml},
    {"model.pipeline_model_parallel_size", kNemo, kNemoYaml},
    {"model.virtual_pipeline_model_parallel_size", kNemoCore, kNemoYaml},
    {"model.context_parallel_size", kNemoCore, kNemoYaml},
    {"model.sequence_parallel", kNemo, kNemoYaml},
    {"model.expert_model_parallel_size", kNemoCore, kNemoYaml},
    {"model.expert_tensor_parallel_size", kNemoCore, kCoreParallel},
    {"model.ub_tp_comm_overlap", kNemoCore, kNemoYaml},
    {"model.overlap_p2p_comm", kNemoCore, kNemoYaml},
    {"model.account_for_embedding_in_pipeline_split", kNemoCore, kCoreTransformer},
    {"model.account_for_loss_in_pipeline_split", kNemoCore, kCoreTransformer},
    {"model.activations_checkpoint_granularity", kNemo, kNemoYaml},
    {"model.activations_checkpoint_method", kNemo, kNemoYaml},
    {"model.activations_checkpoint_num_layers", kNemo, kNemoYaml},
    {"model.optim.name", kNemo, kNemoYaml},
    {"model.optim.overlap_grad_sync", kNemoCore, kNemoYaml},
    {"model.optim.overlap_param_sync", kNemoCore, kNemoYaml},
    {"model.micro_batch_size", kNemo, kNemoYaml},
    {"model.global_batch_size", kNemo, kNemoYaml},
};

constexpr std::string_view kBloom = "bigscience 8387ae17 (2022)", kBloomArgs = "megatron/arguments.py";
constexpr LaunchName kMegatronDeepSpeed[] = {
    {"--tensor-model-parallel-size", kBloom, kBloomArgs},
    {"--pipeline-model-parallel-size", kBloom, kBloomArgs},
    {"--micro-batch-size", kBloom, kBloomArgs},
    {"--checkpoint-activations", kBloom, kBloomArgs},
    {"--deepspeed-activation-checkpointing", kBloom, kBloomArgs},
    {"--pp-partition-method", kBloom, kBloomArgs},
    {"--zero-stage", kBloom, kBloomArgs},
};

constexpr std::string_view kTitan = "v0.2.2 (2026-02-20)", kTitanCode = "torchtitan/config/job_config.py";
constexpr LaunchName kTorchtitan[] = {
    {"training.seq_len", kTitan, kTitanCode},
    {"training.local_batch_size", kTitan, kTitanCode},
    {"training.global_batch_size", kTitan, kTitanCode},
    {"parallelism.data_parallel_replicate_degree", kTitan, kTitanCode},
    {"parallelism.data_parallel_shard_degree", kTitan, kTitanCode},
    {"parallelism.tensor_parallel_degree", kTitan, kTitanCode},
    {"parallelism.context_parallel_degree", kTitan, kTitanCode},
    {"parallelism.context_parallel_rotate_method", kTitan, kTitanCode},
    {"parallelism.pipeline_parallel_degree", kTitan, kTitanCode},
    {"parallelism.pipeline_parallel_schedule", kTitan, kTitanCode},
    {"parallelism.pipeline_parallel_microbatch_size", kTitan, kTitanCode},
    {"parallelism.pipeline_parallel_layers_per_stage", kTitan, kTitanCode},
    {"parallelism.pipeline_parallel_first_stage_less_layers", kTitan, kTitanCode},
    {"parallelism.pipeline_parallel_last_stage_less_layers", kTitan, kTitanCode},
    {"parallelism.expert_parallel_degree", kTitan, kTitanCode},
    {"parallelism.expert_tensor_parallel_degree", kTitan, kTitanCode},
    {"parallelism.fsdp_reshard_after_forward", kTitan, kTitanCode},
    {"parallelism.enable_async_tensor_parallel", kTitan, kTitanCode},
    {"compile.enable", kTitan, kTitanCode},
    {"compile.components", kTitan, kTitanCode},
    {"activation_checkpoint.mode", kTitan, kTitanCode},
    {"activation_checkpoint.selective_ac_option", kTitan, kTitanCode},
};

constexpr std::string_view kSpeed = "edaa722 (2026-08-22)", kSpeedDocs = "docs/_pages/config-json.md",
    kSpeedZero = "deepspeed/runtime/zero/config.py";
constexpr LaunchName kDeepSpeed[] = {
    {"train_batch_size", kSpeed, kSpeedDocs},
    {"train_micro_batch_size_per_gpu", kSpeed, kSpeedDocs},
    {"gradient_accumulation_steps", kSpeed, kSpeedDocs},
    {"zero_optimization.stage", kSpeed, kSpeedZero},
    {"zero_optimization.overlap_comm", kSpeed, kSpeedZero},
    {"zero_optimization.mics_shard_size", kSpeed, kSpeedZero},
    {"zero_optimization.offload_optimizer.device", kSpeed, kSpeedZero},
    {"bf16.enabled", kSpeed, kSpeedDocs},
    {"fp16.enabled", kSpeed, kSpeedDocs},
    {"tensor_parallel.autotp_size", kSpeed, "deepspeed/runtime/tensor_parallel/config.py"},
    {"sequence_parallel_size", kSpeed, "deepspeed/runtime/config.py"},
    {"gradient_checkpointing_enable() in the model", "transformers 4", "modeling_utils.py"},
};

constexpr std::string_view kSpeedup = "16cb6eb (2026-07-24)",
    kSpeedupYaml = "examples/torch_native_parallelism/configs/tp_hsdp.yaml",
    kSpeedupCode = "src/accelerate/parallelism_config.py", kTrainer = "transformers training_args.py";
constexpr LaunchName kAccelerate[] = {
    {"distributed_type", kSpeedup, kSpeedupYaml},
    {"mixed_precision", kSpeedup, kSpeedupYaml},
    {"num_machines", kSpeedup, kSpeedupYaml},
    {"num_processes", kSpeedup, kSpeedupYaml},
    {"fsdp_config.fsdp_version", kSpeedup, kSpeedupYaml},
    {"fsdp_config.fsdp_auto_wrap_policy", kSpeedup, kSpeedupYaml},
    {"fsdp_config.fsdp_reshard_after_forward", kSpeedup, kSpeedupYaml},
    {"fsdp_config.fsdp_activation_checkpointing", kSpeedup, kSpeedupYaml},
    {"fsdp_config.fsdp_offload_params", kSpeedup, kSpeedupYaml},
    {"fsdp_config.fsdp_state_dict_type", kSpeedup, kSpeedupYaml},
    {"parallelism_config.parallelism_config_dp_replicate_size", kSpeedup, kSpeedupYaml},
    {"parallelism_config.parallelism_config_dp_shard_size", kSpeedup, kSpeedupYaml},
    {"parallelism_config.parallelism_config_tp_size", kSpeedup, kSpeedupYaml},
    {"parallelism_config.parallelism_config_cp_size", kSpeedup, kSpeedupYaml},
    {"parallelism_config.parallelism_config_cp_comm_strategy", kSpeedup, kSpeedupCode},
    {"parallelism_config.parallelism_config_sp_backend", kSpeedup, kSpeedupCode},
    {"parallelism_config.parallelism_config_sp_size", kSpeedup, kSpeedupCode},
    {"--per_device_train_batch_size", "transformers 4", kTrainer},
    {"--dtype", "transformers 5.23", "examples/pytorch/language-modeling/run_clm.py"},
    {"--gradient_accumulation_steps", "transformers 4", kTrainer},
};

constexpr std::string_view kNano = "2411b02 (2026-04-07)", kNanoCode = "src/nanotron/config/config.py",
    kNanoParallel = "src/nanotron/config/parallelism_config.py";
constexpr LaunchName kNanotron[] = {
    {"optimizer.zero_stage", kNano, kNanoCode},
    {"parallelism.context_parallel_size", kNano, kNanoParallel},
    {"parallelism.dp", kNano, kNanoParallel},
    {"parallelism.expert_parallel_size", kNano, kNanoParallel},
    {"parallelism.pp", kNano, kNanoParallel},
    {"parallelism.pp_engine", kNano, kNanoParallel},
    {"parallelism.recompute_layer", kNano, kNanoParallel},
    {"parallelism.tp", kNano, kNanoParallel},
    {"parallelism.tp_linear_async_communication", kNano, kNanoParallel},
    {"parallelism.tp_mode", kNano, kNanoParallel},
    {"tokens.batch_accumulation_per_replica", kNano, kNanoCode},
    {"tokens.micro_batch_size", kNano, kNanoCode},
    {"tokens.sequence_length", kNano, kNanoCode},
};

constexpr std::string_view kFoundry = "aecadc9 (2023-10)", kFoundryYaml = "scripts/train/yamls/pretrain";
constexpr LaunchName kLlmFoundry[] = {
    {"device_train_microbatch_size", kFoundry, kFoundryYaml},
    {"fsdp_config.sharding_strategy", kFoundry, kFoundryYaml},
    {"fsdp_config.activation_checkpointing", kFoundry, kFoundryYaml},
};
// clang-format on

struct Table {
  std::string_view target;
  std::span<const LaunchName> names;
};
constexpr std::array kTables{Table{"Megatron-Bridge", kMegatronBridge},
                             Table{"NeMo", kNeMo},
                             Table{"Megatron-DeepSpeed", kMegatronDeepSpeed},
                             Table{"torchtitan", kTorchtitan},
                             Table{"DeepSpeed", kDeepSpeed},
                             Table{"accelerate", kAccelerate},
                             Table{"nanotron", kNanotron},
                             Table{"llm-foundry", kLlmFoundry}};

std::optional<LaunchName> name_of_megatron(std::string_view name) {
  const MegatronArgument* argument = megatron_argument(name);
  if (argument == nullptr || argument->age == ArgumentAge::earlier) return std::nullopt;
  const bool later = argument->age == ArgumentAge::later;
  return LaunchName{argument->flag, later ? "d98e8a6 (2026-08-22)" : "000c4ac2",
                    "megatron/training/arguments.py"};
}

std::span<const LaunchName> launch_names(std::string_view target) {
  const auto* const found = std::find_if(
      kTables.begin(), kTables.end(), [&](const Table& table) { return table.target == target; });
  return found == kTables.end() ? std::span<const LaunchName>() : found->names;
}

}  // namespace

std::optional<LaunchName> launch_name(std::string_view target, std::string_view name) {
  if (target == "Megatron-LM") return name_of_megatron(name);
  for (const LaunchName& row : launch_names(target)) {
    if (row.name == name) return row;
  }
  return std::nullopt;
}

}  // namespace meshwright::interop
