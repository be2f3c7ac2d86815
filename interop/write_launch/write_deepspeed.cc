// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "interop/write_launch/launch.h"

namespace meshwright::interop {
namespace {

std::string refusal_of(const Training& t) {
  const Layout& l = t.layout;
  if (l.pipeline_parallel_size > 1) {
    return "its pipeline stages are made in Python (PipelineModule), not in the JSON";
  }
  if (l.tensor_parallel_size > 1 && l.sequence_parallel) {
    return "its tensor parallelism has no sequence parallelism";
  }
  if (l.context_parallel_size > 1 && l.cp_comm_type != ContextParallelAlgorithm::a2a) {
    return "its sequence parallelism is Ulysses: cp_comm_type a2a only";
  }
  if (t.model.moe && l.expert_parallel_size > 1) {
    return "its expert parallelism knows a few model families by name only";
  }
  if (l.recompute_granularity == RecomputeGranularity::selective || l.recompute_num_layers > 0) {
    return "its recompute is of whole layers, all of them";
  }
  if (offloads_activations(l)) return "it offloads activations of all layers or none";
  return "";
}

}  // namespace

LaunchFile deepspeed(const Training& t) {
  LaunchFile launch{.target = "DeepSpeed",
                    .names_of = "commit edaa722 of 2026-08-22",
                    .file_name = "deepspeed.json",
                    .text = "",
                    .notes = {},
                    .refusal = refusal_of(t)};
  if (!launch.refusal.empty()) return launch;
  const Layout& l = t.layout;
  nlohmann::ordered_json json{
      {"train_batch_size", t.job.global_batch_size},
      {"train_micro_batch_size_per_gpu", l.micro_batch_size},
      {"gradient_accumulation_steps", num_micro_batches(t.job.global_batch_size, l)},
      {"zero_optimization", {{"stage", l.zero_stage}, {"overlap_comm", l.overlap_grad_reduce}}}};
  if (l.zero_stage == 3 && l.zero_shard_size > 0) {
    json["zero_optimization"]["mics_shard_size"] = l.zero_shard_size;
  }
  if (l.optimizer_offload) json["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
  if (t.job.precision == Precision::bf16) json["bf16"] = {{"enabled", true}};
  if (t.job.precision == Precision::fp16) json["fp16"] = {{"enabled", true}};
  if (l.tensor_parallel_size > 1) {
    json["tensor_parallel"] = {{"autotp_size", l.tensor_parallel_size}};
  }
  if (l.context_parallel_size > 1) json["sequence_parallel_size"] = l.context_parallel_size;
  launch.text = json.dump(2) + "\n";
  if (l.recompute_granularity != RecomputeGranularity::none) {
    launch.notes.emplace_back(
        "Recompute is switched on in the model: gradient_checkpointing_enable() recomputes whole "
        "layers.");
  }
  if (t.job.precision == Precision::fp8) {
    launch.notes.emplace_back("fp8 is the model's business (Transformer Engine), not the JSON's.");
  }
  return launch;
}

}  // namespace meshwright::interop
