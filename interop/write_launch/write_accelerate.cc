// SPDX-License-Identifier: Apache-2.0
// accelerate's FSDP2: a YAML, and the command that names it with the batch (the file has none).
#include <fmt/format.h>

#include "interop/write_launch/hosts.h"
#include "interop/write_launch/launch.h"
#include "interop/write_launch/settings_text.h"
#include "interop/write_launch/vocabulary.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::interop {
namespace {

const Vocabulary& accelerate_vocabulary() {
  static const Vocabulary words{"tensor_parallel_size", "context_parallel_size", "cp_comm_type",
                                "zero_stage",           "zero_shard_size",       "fsdp_unit",
                                "recompute_granularity"};
  return words;
}

int copies_of(const Layout& l) {
  if (l.zero_stage == 0) return l.data_parallel_size;
  return l.zero_shard_size == 0 ? 1 : gradient_group_size(l) / zero_shard_group_size(l);
}

std::string accelerate_sharding_refusal(const Layout& l) {
  if (l.zero_stage == 1) return "FSDP2 shards weights and gradients too: ZeRO 1 cannot be said";
  if (l.zero_stage > 1 && l.fsdp_unit != FsdpUnit::block) return "it shards a block at a time";
  if (l.zero_stage > 1 && zero_shard_group_size(l) == 1) {
    return "a shard of one rank is no sharding there";
  }
  const bool beside = l.tensor_parallel_size > 1 || l.context_parallel_size > 1;
  if (beside && copies_of(l) > 1 && l.data_parallel_size / copies_of(l) == 1) {
    return "beside tensor or context ranks copies of the weights must be sharded, too "
           "(parallelism_config.py)";
  }
  return "";
}

}  // namespace

std::string accelerate_layout_refusal(const Training& t) {
  const Layout& l = t.layout;
  if (l.pipeline_parallel_size > 1) return "it has no pipeline but Megatron-LM's";
  if (t.scenario.model.moe && l.expert_parallel_size > 1) return "it has no expert parallelism";
  if (l.sequence_parallel) return "its tensor parallelism has no sequence parallelism";
  if (std::string why = accelerate_sharding_refusal(l); !why.empty()) return why;
  if (l.context_parallel_size > 1 && l.cp_comm_type == ContextParallelAlgorithm::a2a_p2p) {
    return "its context ranks gather keys and values, pass them round, or trade heads";
  }
  if (l.recompute_granularity == RecomputeGranularity::selective ||
      (l.recompute_granularity == RecomputeGranularity::full && l.recompute_num_layers > 0 &&
       l.recompute_method == RecomputeMethod::block)) {
    return "it recomputes all blocks or none";
  }
  if (l.optimizer_offload || offloads_activations(l)) return "it offloads all state or none";
  if (t.scenario.job.precision == Precision::tf32 || t.scenario.job.precision == Precision::fp4) {
    return fmt::format("it has no word for {}", name_of(t.scenario.job.precision));
  }
  return accelerate_vocabulary().refusal(l, t.scenario.model,
                                         t.scenario.cluster.framework.defaults.layout);
}

std::vector<LaunchSetting> accelerate_layout_settings(const Training& t) {
  const Layout& l = t.layout;
  const int gpus = world_size(l);
  const bool sharded = l.zero_stage > 1;
  const bool heads = l.cp_comm_type == ContextParallelAlgorithm::a2a;
  const std::string sizes = "parallelism_config.parallelism_config_";
  SettingsList s;
  s.set("distributed_type", sharded ? "FSDP" : "MULTI_GPU");
  s.set("mixed_precision", t.scenario.job.precision == Precision::fp32
                               ? std::string_view("no")
                               : name_of(t.scenario.job.precision));
  s.set("num_machines", hosts_of(t.scenario.cluster, l).count);
  s.set("num_processes", gpus);
  s.set_if(sharded, "fsdp_config.fsdp_version", 2);
  s.set_if(sharded, "fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  s.set_if(sharded, "fsdp_config.fsdp_reshard_after_forward", l.zero_stage == 3);
  s.set_if(sharded, "fsdp_config.fsdp_activation_checkpointing",
           l.recompute_granularity == RecomputeGranularity::full);
  s.set_if(sharded, "fsdp_config.fsdp_offload_params", false);
  s.set_if(sharded, "fsdp_config.fsdp_state_dict_type", "SHARDED_STATE_DICT");
  s.set(sizes + "dp_replicate_size", copies_of(l));
  s.set(sizes + "dp_shard_size", l.data_parallel_size / copies_of(l));
  s.set(sizes + "tp_size", l.tensor_parallel_size);
  s.set(sizes + "cp_size", heads ? 1 : l.context_parallel_size);
  s.set_if(l.context_parallel_size > 1 && !heads, sizes + "cp_comm_strategy",
           l.cp_comm_type == ContextParallelAlgorithm::p2p ? "alltoall" : "allgather");
  s.set_if(heads, sizes + "sp_size", l.context_parallel_size);
  // Said, because releases without it would otherwise ask for DeepSpeed's.
  s.set_if(heads, sizes + "sp_backend", "accelerate");
  // Options of the command, for which the file has no place.
  s.set("--per_device_train_batch_size", l.micro_batch_size);
  s.set("--gradient_accumulation_steps", num_micro_batches(t.scenario.job.global_batch_size, l));
  // Said, because transformers 5 loads weights in 16 bits, and then trains those.
  s.set("--dtype", t.scenario.job.master_weights ? "float32" : "bfloat16");
  return s.take();
}

LaunchFile accelerate(const Training& t) {
  LaunchFile launch{.target = "accelerate",
                    .names_of = "commit 16cb6eb of 2026-07-24",
                    .file_name = "accelerate.sh",
                    .text = "",
                    .notes = {},
                    .refusal = accelerate_layout_refusal(t)};
  if (!launch.refusal.empty()) return launch;
  std::vector<LaunchSetting> file;
  std::string options;
  for (LaunchSetting& setting : accelerate_layout_settings(t)) {
    if (setting.name.starts_with("--")) {
      options += fmt::format(" \\\n  {} {}", setting.name, setting.value);
    } else {
      file.push_back(std::move(setting));
    }
  }
  const bool unsharded_recompute =
      t.layout.zero_stage < 2 && t.layout.recompute_granularity == RecomputeGranularity::full;
  if (unsharded_recompute) options += " \\\n  --gradient_checkpointing";
  launch.text = fmt::format(
      "#!/bin/bash\n# {}\nset -eu\ncat > accelerate.yaml <<'EOF'\n{}EOF\n"
      "accelerate launch --config_file accelerate.yaml --machine_rank \"${{NODE_RANK:-0}}\" \\\n"
      "  --main_process_ip \"${{MASTER_ADDR:-localhost}}\" --main_process_port "
      "\"${{MASTER_PORT:-6000}}\" \\\n  train.py --max_seq_length {}{}\n",
      short_name(t.layout), yaml_text(std::move(file)), t.scenario.job.seq_length, options);
  if (t.layout.context_parallel_size > 1 &&
      t.layout.cp_comm_type == ContextParallelAlgorithm::a2a) {
    launch.notes.emplace_back(
        "sp_backend accelerate (Ulysses without DeepSpeed) is of 2026: older releases refuse it.");
  }
  launch.notes.emplace_back(
      "train.py is yours: the options are those of Hugging Face's Trainer; the YAML alone serves "
      "any program that accelerate starts.");
  return launch;
}

}  // namespace meshwright::interop
