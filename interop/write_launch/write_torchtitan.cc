// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "interop/write_launch/launch.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::interop {
namespace {

std::string refusal_of(const Training& t) {
  const Layout& l = t.layout;
  const bool piped = l.pipeline_parallel_size > 1;
  if (l.data_parallel_size > 1 && l.zero_stage == 1) {
    return "its data parallelism shards weights and gradients too, or nothing: ZeRO 1 cannot be "
           "said";
  }
  if (l.tensor_parallel_size > 1 && !l.sequence_parallel) {
    return "its tensor parallelism is always sequence-parallel";
  }
  if (piped && l.schedule != PipelineSchedule::one_f_one_b &&
      l.schedule != PipelineSchedule::interleaved && l.schedule != PipelineSchedule::gpipe) {
    return fmt::format("no equal of the {} schedule is known here", name_of(l.schedule));
  }
  if (l.num_layers_in_first_pipeline_stage > 0 || l.num_layers_in_last_pipeline_stage > 0 ||
      l.pipeline_layout || (piped && l.pipeline_engine != PipelineEngine::megatron)) {
    return "uneven stages are counted otherwise there";
  }
  if (l.optimizer_offload || offloads_activations(l)) {
    return "it offloads all state or none";
  }
  if (t.model.moe && expert_tensor_size(l) != l.tensor_parallel_size &&
      expert_tensor_size(l) != 1) {
    return "experts are cut over all tensor ranks or none";
  }
  return "";
}

std::string_view schedule_name(PipelineSchedule schedule) {
  if (schedule == PipelineSchedule::interleaved) return "Interleaved1F1B";
  return schedule == PipelineSchedule::gpipe ? "GPipe" : "1F1B";
}

}  // namespace

LaunchFile torchtitan(const Training& t) {
  LaunchFile launch{.target = "torchtitan",
                    .names_of = "tag v0.2.2 of 2026-02-20, the last with TOML files",
                    .file_name = "torchtitan.toml",
                    .text = "",
                    .notes = {},
                    .refusal = refusal_of(t)};
  if (!launch.refusal.empty()) return launch;
  const Layout& l = t.layout;
  const bool piped = l.pipeline_parallel_size > 1;
  const bool sharded = l.zero_stage >= 2;
  const int replicas = !sharded                 ? l.data_parallel_size
                       : l.zero_shard_size == 0 ? 1
                                                : gradient_group_size(l) / zero_shard_group_size(l);
  std::string text = fmt::format(
      "# {}\n[model]\nname = \"llama3\"  # yours\nflavor = \"\"  # yours\n\n[training]\n"
      "seq_len = {}\nlocal_batch_size = {}\nglobal_batch_size = {}\n\n[parallelism]\n",
      short_name(l), t.job.seq_length,
      piped ? t.job.global_batch_size / l.data_parallel_size : l.micro_batch_size,
      t.job.global_batch_size);
  text += fmt::format(
      "data_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n"
      "tensor_parallel_degree = {}\ncontext_parallel_degree = {}\npipeline_parallel_degree = {}\n",
      replicas, l.data_parallel_size / replicas, l.tensor_parallel_size, l.context_parallel_size,
      l.pipeline_parallel_size);
  if (piped) {
    text +=
        fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n",
                    schedule_name(l.schedule), l.micro_batch_size);
    text += fmt::format(
        "pipeline_parallel_layers_per_stage = {}\n",
        t.model.num_layers / (l.pipeline_parallel_size * l.virtual_pipeline_parallel_size));
  }
  if (t.model.moe) {
    text += fmt::format("expert_parallel_degree = {}\nexpert_tensor_parallel_degree = {}\n",
                        l.expert_parallel_size, expert_tensor_size(l));
  }
  if (sharded) {
    text += fmt::format("fsdp_reshard_after_forward = \"{}\"\n",
                        l.zero_stage == 3 ? "always" : "never");
  }
  text +=
      fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n", name_of(l.recompute_granularity));
  launch.text = std::move(text);
  launch.notes.emplace_back(
      "Since commit 9810191 of 2026-02-23 a run is a Python function; the names of the sizes "
      "stayed.");
  if (l.recompute_granularity == RecomputeGranularity::selective) {
    launch.notes.emplace_back(
        "Its selective mode chooses other tensors than Megatron-LM's core attention.");
  }
  return launch;
}

}  // namespace meshwright::interop
