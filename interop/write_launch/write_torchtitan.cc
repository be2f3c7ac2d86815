// SPDX-License-Identifier: Apache-2.0
// torchtitan's TOML, up to v0.2.2, and the command of 0.3.0, which names a configuration in Python
// and overrules it.
#include <fmt/format.h>

#include <algorithm>

#include "interop/read_launch/shipped_recipes.h"
#include "interop/read_launch/torchtitan_names.h"
#include "interop/write_launch/launch.h"
#include "interop/write_launch/settings_text.h"
#include "interop/write_launch/vocabulary.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::interop {
namespace {

const Vocabulary& torchtitan_vocabulary() {
  static const Vocabulary words{"tensor_parallel_size",
                                "pipeline_parallel_size",
                                "virtual_pipeline_parallel_size",
                                "context_parallel_size",
                                "expert_parallel_size",
                                "expert_tensor_parallel_size",
                                "sequence_parallel",
                                "schedule",
                                "account_for_embedding_in_pipeline_split",
                                "account_for_loss_in_pipeline_split",
                                "zero_stage",
                                "zero_shard_size",
                                "fsdp_unit",
                                "fsdp_vocabulary",
                                "recompute_granularity",
                                "recompute_modules",
                                "cp_comm_type",
                                "tp_comm_overlap",
                                "overlap_p2p_comm"};
  return words;
}

// 0.3.0 and later: spmd_types is the backend that came with it.
bool writes_command(const Training& t) {
  return t.scenario.cluster.framework.defaults.layout.tensor_engine == TensorEngine::spmd_types;
}

// What the options of 0.3.0 cannot say (config/configs.py).
std::string command_refusal(const Training& t) {
  if (t.scenario.job.precision != Precision::bf16) {
    return "its number format is the configuration's: bf16 is written";
  }
  const Layout& l = t.layout;
  if (l.context_parallel_size > 1 && l.cp_comm_type != ContextParallelAlgorithm::all_gather) {
    return "its context ranks gather keys and values";
  }
  if (t.scenario.model.moe && l.expert_parallel_size > 1 && expert_tensor_size(l) != 1) {
    return "experts that are dealt out are not cut";
  }
  return "";
}

std::string torchtitan_sharding_refusal(const Layout& l) {
  if (gradient_group_size(l) > 1 && l.zero_stage == 1) {
    return "its data parallelism shards weights and gradients too, or nothing: ZeRO 1 cannot be "
           "said";
  }
  if (l.zero_stage > 1 && l.fsdp_unit != FsdpUnit::block) return "it shards a block at a time";
  if (l.zero_stage > 1 && zero_shard_group_size(l) < std::max(2, l.context_parallel_size)) {
    return "a shard of one data rank is no sharding there";
  }
  const bool shards = l.zero_stage == 0 && gradient_group_size(l) > l.data_parallel_size;
  if (shards) return "with context ranks it shards, whatever is asked for";
  return "";
}

std::string pipeline_refusal(const Layout& l) {
  if (l.pipeline_parallel_size == 1) return "";
  if (l.schedule != PipelineSchedule::one_f_one_b && l.schedule != PipelineSchedule::interleaved &&
      l.schedule != PipelineSchedule::gpipe) {
    return fmt::format("no equal of the {} schedule is known here", name_of(l.schedule));
  }
  if (l.pipeline_engine != PipelineEngine::megatron) return "its stages are cut otherwise";
  if (l.overlap_p2p_comm != (l.schedule == PipelineSchedule::interleaved)) {
    return "whether messages overlap follows from the schedule there";
  }
  return "";
}

std::string_view schedule_name(PipelineSchedule schedule) {
  if (schedule == PipelineSchedule::interleaved) return "Interleaved1F1B";
  return schedule == PipelineSchedule::gpipe ? "GPipe" : "1F1B";
}

// torchtitan counts embedding and head as one layer each, unless told otherwise.
void add_torchtitan_pipeline(SettingsList& s, const Training& t) {
  const Layout& l = t.layout;
  if (l.pipeline_parallel_size == 1) return;
  const int first = l.account_for_embedding_in_pipeline_split ? 1 : 0;
  const int last = l.account_for_loss_in_pipeline_split ? 1 : 0;
  const int stages = l.pipeline_parallel_size * l.virtual_pipeline_parallel_size;
  s.set("parallelism.pipeline_parallel_schedule", schedule_name(l.schedule));
  s.set("parallelism.pipeline_parallel_microbatch_size", l.micro_batch_size);
  s.set("parallelism.pipeline_parallel_first_stage_less_layers", first);
  s.set("parallelism.pipeline_parallel_last_stage_less_layers", last);
  s.set("parallelism.pipeline_parallel_layers_per_stage",
        (t.scenario.model.num_layers + first + last + stages - 1) / stages);
}

// "always" frees the head, too, where it is a unit.
const char* reshard_word(const Training& t) {
  const Layout& l = t.layout;
  if (l.zero_stage == 2) return "never";
  return l.fsdp_vocabulary == FsdpVocabulary::units && l.pipeline_parallel_size == 1 ? "default"
                                                                                     : "always";
}

void add_sizes(SettingsList& s, const Training& t) {
  const Layout& l = t.layout;
  const bool sharded = l.zero_stage >= 2;
  const int replicas = !sharded                 ? l.data_parallel_size
                       : l.zero_shard_size == 0 ? 1
                                                : gradient_group_size(l) / zero_shard_group_size(l);
  s.set("parallelism.data_parallel_replicate_degree", replicas);
  s.set("parallelism.data_parallel_shard_degree", l.data_parallel_size / replicas);
  s.set("parallelism.tensor_parallel_degree", l.tensor_parallel_size);
  s.set_if(l.tensor_parallel_size > 1 && !l.sequence_parallel,
           "parallelism.enable_sequence_parallel", false);
  s.set("parallelism.context_parallel_degree", l.context_parallel_size);
  s.set("parallelism.pipeline_parallel_degree", l.pipeline_parallel_size);
  add_torchtitan_pipeline(s, t);
  if (t.scenario.model.moe) {
    s.set("parallelism.expert_parallel_degree", l.expert_parallel_size);
    s.set_if(!writes_command(t), "parallelism.expert_tensor_parallel_degree",
             expert_tensor_size(l));
  }
  s.set_if(sharded, "parallelism.fsdp_reshard_after_forward", reshard_word(t));
  if (writes_command(t)) {
    s.set_if(l.tp_comm_overlap, "compile.enable_async_tensor_parallel", true);
    return;
  }
  s.set_if(l.context_parallel_size > 1, "parallelism.context_parallel_rotate_method",
           l.cp_comm_type == ContextParallelAlgorithm::p2p ? "alltoall" : "allgather");
  s.set_if(l.tp_comm_overlap, "parallelism.enable_async_tensor_parallel", true);
}

// 0.3.0 has subcommands in the place of a mode, and chooses by operator where it is selective.
void add_recompute(SettingsList& s, const Training& t) {
  const std::string_view mode = name_of(t.layout.recompute_granularity);
  if (writes_command(t)) return s.set("activation-checkpoint", mode);
  s.set("activation_checkpoint.mode", mode);
  s.set_if(t.layout.recompute_granularity == RecomputeGranularity::selective,
           "activation_checkpoint.selective_ac_option", "op");
}

}  // namespace

std::string torchtitan_layout_refusal(const Training& t) {
  const Layout& l = t.layout;
  if (t.scenario.job.precision != Precision::bf16 && t.scenario.job.precision != Precision::fp8) {
    return fmt::format("{} is not written for it: bf16 and fp8 are",
                       name_of(t.scenario.job.precision));
  }
  if (std::string why = writes_command(t) ? command_refusal(t) : ""; !why.empty()) return why;
  if (std::string why = torchtitan_sharding_refusal(l); !why.empty()) return why;
  if (!writes_command(t) && (l.tensor_parallel_size > 1) != l.sequence_parallel) {
    return "its tensor parallelism is always sequence-parallel";
  }
  if (l.tp_comm_overlap && t.scenario.job.kernel_fusion != KernelFusion::compiled) {
    return "its async tensor parallelism needs the compiler (compile.enable)";
  }
  if (std::string why = pipeline_refusal(l); !why.empty()) return why;
  if (l.context_parallel_size > 1 && l.cp_comm_type != ContextParallelAlgorithm::p2p &&
      l.cp_comm_type != ContextParallelAlgorithm::all_gather) {
    return "its context ranks pass keys and values round or gather them";
  }
  if (l.num_layers_in_first_pipeline_stage > 0 || l.num_layers_in_last_pipeline_stage > 0 ||
      l.pipeline_layout) {
    return "uneven stages are counted otherwise there";
  }
  if (l.optimizer_offload || offloads_activations(l)) return "it offloads all state or none";
  if (l.recompute_granularity == RecomputeGranularity::selective &&
      l.recompute_modules.bits != kRecomputeOp) {
    return "its selective recompute chooses by operator (recompute_modules op)";
  }
  if (l.recompute_granularity == RecomputeGranularity::full && l.recompute_num_layers > 0 &&
      l.recompute_method == RecomputeMethod::block) {
    return "it recomputes every layer or none";
  }
  if (t.scenario.model.moe && expert_tensor_size(l) != l.tensor_parallel_size &&
      (expert_tensor_size(l) != 1 || l.expert_parallel_size == 1)) {
    return "experts are cut over all tensor ranks, or over none and dealt out";
  }
  return torchtitan_vocabulary().refusal(l, t.scenario.model,
                                         t.scenario.cluster.framework.defaults.layout);
}

std::vector<LaunchSetting> torchtitan_layout_settings(const Training& t) {
  const Layout& l = t.layout;
  const bool piped = l.pipeline_parallel_size > 1;
  SettingsList s;
  s.set("training.seq_len", t.scenario.job.seq_length);
  s.set("training.local_batch_size",
        piped ? t.scenario.job.global_batch_size / l.data_parallel_size : l.micro_batch_size);
  s.set("training.global_batch_size", t.scenario.job.global_batch_size);
  add_sizes(s, t);
  const bool compiled = t.scenario.job.kernel_fusion == KernelFusion::compiled;
  s.set("compile.enable", compiled);
  // Unsaid, the loss is compiled, too.
  s.set_if(compiled && !t.scenario.job.cross_entropy_loss_fusion, "compile.components",
           writes_command(t) ? "model" : R"(["model"])");
  add_recompute(s, t);
  return s.take();
}

namespace {

// A configuration of the registry for this model, in bf16.
std::string configuration_of(const TitanName& model) {
  for (const std::string& name : torchtitan_recipes().names()) {
    const Values values = torchtitan_recipes().values(name);
    const auto says = [&](const char* key, std::string_view word) {
      return std::any_of(values.all().begin(), values.all().end(), [&](const Value& value) {
        return value.key == key && value.words.size() == 1 && value.words.front() == word;
      });
    };
    const bool bf16 = !values.has("model.converters");
    if (bf16 && says("model.name", model.name) && says("model.flavor", model.flavor)) return name;
  }
  return "";
}

LaunchFile torchtitan_command(const Training& t) {
  LaunchFile launch{.target = "torchtitan",
                    .names_of = "torchtitan 0.3.0",
                    .file_name = "torchtitan.sh",
                    .text = "",
                    .notes = {},
                    .refusal = torchtitan_layout_refusal(t)};
  if (!launch.refusal.empty()) return launch;
  const auto model = titan_name_of(t.scenario.model.name);
  const std::string configuration = model ? configuration_of(*model) : "";
  const int on_node = std::min(t.scenario.cluster.gpus_per_node, t.scenario.cluster.num_gpus());
  launch.text = fmt::format("#!/bin/bash\n# {}\nNGPU={} MODULE={} CONFIG={} ./run_train.sh",
                            short_name(t.layout), on_node, model ? model->name : "yours",
                            configuration.empty() ? "yours" : configuration);
  for (const LaunchSetting& setting : torchtitan_layout_settings(t)) {
    launch.text += " \\\n  " + (setting.name == "activation-checkpoint"
                                    ? setting.name + ":" + setting.value
                                    : option_text(setting.name, setting.value));
  }
  launch.text += "\n";
  if (configuration.empty()) {
    launch.notes.emplace_back(
        "torchtitan 0.3.0 ships no configuration of this model: write yours.");
  }
  launch.notes.emplace_back(
      "Written for torchtitan 0.3.0; --framework torchtitan-2025 writes TOML.");
  return launch;
}

}  // namespace

LaunchFile torchtitan(const Training& t) {
  if (writes_command(t)) return torchtitan_command(t);
  LaunchFile launch{.target = "torchtitan",
                    .names_of = "tag v0.2.2 of 2026-02-20, the last with TOML files",
                    .file_name = "torchtitan.toml",
                    .text = "",
                    .notes = {},
                    .refusal = torchtitan_layout_refusal(t)};
  if (!launch.refusal.empty()) return launch;
  const auto known = titan_name_of(t.scenario.model.name);
  std::string model =
      known ? fmt::format("[model]\nname = \"{}\"\nflavor = \"{}\"\n", known->name, known->flavor)
            : "[model]\nname = \"llama3\"  # yours\nflavor = \"\"  # yours\n";
  if (t.scenario.job.precision == Precision::fp8)
    model += "converters = [\"quantize.linear.float8\"]\n";
  launch.text = fmt::format("# {}\n{}\n{}", short_name(t.layout), model,
                            toml_text(torchtitan_layout_settings(t)));
  launch.notes.emplace_back(
      "Written for torchtitan v0.2.2; later releases refuse TOML: --framework torchtitan-0.3 "
      "writes "
      "their command.");
  if (t.layout.tp_comm_overlap) {
    launch.notes.emplace_back(
        "Async tensor parallelism needs the compiler; where its pass finds no product to overlap "
        "with it says so and does nothing.");
  }
  return launch;
}

}  // namespace meshwright::interop
