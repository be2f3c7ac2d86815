// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "interop/write_launch/hosts.h"
#include "interop/write_launch/launch.h"
#include "interop/write_launch/settings_text.h"
#include "interop/write_launch/vocabulary.h"
#include "sim/record/json.h"

namespace meshwright::interop {
namespace {

constexpr const char* kFileName = "deepspeed.json";
constexpr const char* kRecomputeSwitch = "gradient_checkpointing_enable() in the model";

const Vocabulary& deepspeed_vocabulary() {
  static const Vocabulary words{"tensor_parallel_size", "context_parallel_size",
                                "cp_comm_type",         "zero_stage",
                                "zero_shard_size",      "overlap_grad_reduce",
                                "optimizer_offload",    "recompute_granularity"};
  return words;
}

}  // namespace

std::string deepspeed_layout_refusal(const Training& t) {
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
  if (t.scenario.model.moe && l.expert_parallel_size > 1) {
    return "its expert parallelism knows a few model families by name only";
  }
  if (l.recompute_granularity == RecomputeGranularity::selective ||
      (l.recompute_granularity == RecomputeGranularity::full && l.recompute_num_layers > 0 &&
       l.recompute_method == RecomputeMethod::block)) {
    return "its recompute is of whole layers, all of them";
  }
  if (offloads_activations(l)) return "it offloads activations of all layers or none";
  if (l.optimizer_offload && l.zero_stage == 0) return "it offloads the optimizer of ZeRO only";
  if (uses_fsdp(l)) return "it shards by ZeRO, not by FSDP";
  if (l.zero_shard_size > 0 && l.zero_stage != 3) return "only stage 3 has copies of shards (MiCS)";
  if (t.scenario.job.precision == Precision::fp4 || t.scenario.job.precision == Precision::tf32) {
    return fmt::format("it has no word for {}", name_of(t.scenario.job.precision));
  }
  return deepspeed_vocabulary().refusal(l, t.scenario.model,
                                        t.scenario.cluster.framework.defaults.layout);
}

std::string deepspeed_command(const Training& t) {
  const Layout& l = t.layout;
  const Hosts hosts = hosts_of(t.scenario.cluster, l);
  const bool full = l.recompute_granularity == RecomputeGranularity::full;
  return fmt::format(
      "deepspeed --num_nodes {} --num_gpus {} train.py --deepspeed {} "
      "--per_device_train_batch_size {} --gradient_accumulation_steps {} --max_seq_length {}{}",
      hosts.count, hosts.devices, kFileName, l.micro_batch_size,
      num_micro_batches(t.scenario.job.global_batch_size, l), t.scenario.job.seq_length,
      full ? " --gradient_checkpointing" : "");
}

LaunchFile deepspeed(const Training& t) {
  LaunchFile launch{.target = "DeepSpeed",
                    .names_of = "commit edaa722 of 2026-08-22",
                    .file_name = kFileName,
                    .text = "",
                    .notes = {},
                    .refusal = deepspeed_layout_refusal(t)};
  if (!launch.refusal.empty()) return launch;
  const Layout& l = t.layout;
  Json json{
      {"train_batch_size", t.scenario.job.global_batch_size},
      {"train_micro_batch_size_per_gpu", l.micro_batch_size},
      {"gradient_accumulation_steps", num_micro_batches(t.scenario.job.global_batch_size, l)},
      {"zero_optimization", {{"stage", l.zero_stage}, {"overlap_comm", l.overlap_grad_reduce}}}};
  if (l.zero_stage == 3 && l.zero_shard_size > 0) {
    json["zero_optimization"]["mics_shard_size"] = l.zero_shard_size;
  }
  if (l.optimizer_offload) json["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
  if (t.scenario.job.precision == Precision::bf16) json["bf16"] = {{"enabled", true}};
  if (t.scenario.job.precision == Precision::fp16) json["fp16"] = {{"enabled", true}};
  if (l.tensor_parallel_size > 1) {
    json["tensor_parallel"] = {{"autotp_size", l.tensor_parallel_size}};
  }
  if (l.context_parallel_size > 1) json["sequence_parallel_size"] = l.context_parallel_size;
  launch.text = json.dump(2) + "\n";
  launch.notes.emplace_back("With Hugging Face's Trainer: " + deepspeed_command(t));
  if (l.recompute_granularity != RecomputeGranularity::none) {
    launch.notes.emplace_back(
        "Recompute is switched on in the model: gradient_checkpointing_enable() recomputes whole "
        "layers.");
  }
  if (t.scenario.job.precision == Precision::fp8) {
    launch.notes.emplace_back("fp8 is the model's business (Transformer Engine), not the JSON's.");
  }
  return launch;
}

namespace {

void flatten_settings(const Json& json, const std::string& path, SettingsList& settings) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    if (value.is_object()) {
      flatten_settings(value, name, settings);
    } else {
      settings.set(name,
                   std::string_view(value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
}

}  // namespace

// Recompute is the model's switch, not the file's.
std::vector<LaunchSetting> deepspeed_layout_settings(const Training& t) {
  SettingsList settings;
  if (const std::string text = deepspeed(t).text; !text.empty()) {
    flatten_settings(Json::parse(text), "", settings);
  }
  const bool full = t.layout.recompute_granularity == RecomputeGranularity::full;
  settings.set(kRecomputeSwitch, full ? "called" : "not called");
  return settings.take();
}

}  // namespace meshwright::interop
