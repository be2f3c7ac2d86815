// SPDX-License-Identifier: Apache-2.0
// Overrides of Megatron-Bridge: not always Megatron-LM's option with underscores.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interop/write_launch/launch.h"
#include "interop/write_launch/model_sizes.h"
#include "interop/write_launch/settings_text.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::interop {
namespace {

std::string module_list(RecomputeModules modules) {
  std::vector<std::string_view> words;
  for (const auto& entry : kRecomputeModuleNames) {
    if (modules.has(entry.value)) words.push_back(entry.name);
  }
  return fmt::format("[{}]", fmt::join(words, ", "));
}

void add_megatron_bridge_recompute(SettingsList& o, const Layout& l) {
  if (l.recompute_granularity == RecomputeGranularity::none) return;
  o.set("model.recompute_granularity", name_of(l.recompute_granularity));
  if (l.recompute_granularity == RecomputeGranularity::selective) {
    o.set("model.recompute_modules", module_list(l.recompute_modules));
    return;
  }
  const bool some = l.recompute_num_layers > 0 && l.recompute_method == RecomputeMethod::block;
  o.set("model.recompute_method", std::string_view(some ? "block" : "uniform"));
  o.set("model.recompute_num_layers",
        some ? l.recompute_num_layers / l.virtual_pipeline_parallel_size : 1);
}

}  // namespace

std::string megatron_bridge_layout_refusal(const Training& t) {
  const Layout& l = t.layout;
  if (l.zero_stage > 1) return "its FSDP is not written here";
  if (l.zero_shard_size > 0) return "copies of the sharded optimizer are not written here";
  if (l.pipeline_layout) return "lists of stages are not written here";
  if (l.cuda_graph_impl != CudaGraphImpl::none) return "graphs are not written here";
  if (l.offload_modules.bits != 0) return "offload of modules is not written here";
  if (l.context_parallel_size > 1 && l.cp_comm_type != ContextParallelAlgorithm::p2p) {
    return "context parallelism is written as p2p";
  }
  if (!(l.rank_order == Layout{}.rank_order)) return "another rank order is not written here";
  if (l.delay_wgrad_compute && t.scenario.model.moe)
    return "delayed weight gradients are not written here";
  return megatron_layout_refusal(t);
}

std::vector<LaunchSetting> megatron_bridge_layout_settings(const Training& t) {
  const Layout& l = t.layout;
  SettingsList o;
  set_model_sizes(o, t);
  const bool first = l.num_layers_in_first_pipeline_stage > 0;
  const bool last = l.num_layers_in_last_pipeline_stage > 0;
  o.set_if(first, "model.num_layers_in_first_pipeline_stage", l.num_layers_in_first_pipeline_stage);
  o.set_if(last, "model.num_layers_in_last_pipeline_stage", l.num_layers_in_last_pipeline_stage);
  if (t.scenario.model.moe) {
    o.set("model.moe_token_dispatcher_type", name_of(l.moe_token_dispatcher_type));
    o.set_if(l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex,
             "model.moe_flex_dispatcher_backend", name_of(l.moe_flex_dispatcher_backend));
    o.set_if(l.moe_shared_expert_overlap, "model.moe_shared_expert_overlap", true);
    o.set_if(l.overlap_moe_expert_parallel_comm, "comm_overlap.overlap_moe_expert_parallel_comm",
             true);
  }
  add_megatron_bridge_recompute(o, l);
  o.set_if(l.cpu_offloading_num_layers > 0, "model.cpu_offloading", true);
  o.set_if(l.cpu_offloading_num_layers > 0, "model.cpu_offloading_num_layers",
           l.cpu_offloading_num_layers);
  o.set("comm_overlap.tp_comm_overlap", l.tp_comm_overlap);
  // In two places, or it is half on.
  o.set("ddp.use_distributed_optimizer", l.zero_stage > 0);
  o.set("optimizer.use_distributed_optimizer", l.zero_stage > 0);
  o.set_if(l.optimizer_offload, "optimizer.optimizer_cpu_offload", true);
  o.set_if(l.optimizer_offload, "optimizer.optimizer_offload_fraction", "1.0");  // unsaid: 0
  // comm_overlap overrules ddp where both are.
  for (const char* section : {"ddp.", "comm_overlap."}) {
    o.set(std::string(section) + "overlap_grad_reduce", l.overlap_grad_reduce);
    o.set(std::string(section) + "overlap_param_gather", l.overlap_param_gather);
  }
  o.set("train.micro_batch_size", l.micro_batch_size);
  o.set("train.global_batch_size", t.scenario.job.global_batch_size);
  if (freezes_weights(t.scenario.job)) o.set("peft.dim", t.scenario.job.lora_rank);
  o.set("model.seq_length", t.scenario.job.seq_length);
  o.set("dataset.seq_length", t.scenario.job.seq_length);
  const bool half =
      t.scenario.job.precision == Precision::bf16 || t.scenario.job.precision == Precision::fp16;
  o.set_if(
      half, "mixed_precision",
      std::string_view(t.scenario.job.precision == Precision::bf16 ? "bf16_mixed" : "fp16_mixed"));
  return o.take();
}

LaunchFile megatron_bridge(const Training& t) {
  LaunchFile launch{.target = "Megatron-Bridge",
                    .names_of = "commit 067f987 of 2026-08-22",
                    .file_name = "megatron-bridge.yaml",
                    .text = "",
                    .notes = {},
                    .refusal = megatron_bridge_layout_refusal(t)};
  if (!launch.refusal.empty()) return launch;
  launch.text =
      fmt::format("# {}\n{}", short_name(t.layout), yaml_text(megatron_bridge_layout_settings(t)));
  if (is_narrow(t.scenario.job.precision)) {
    launch.notes.emplace_back("mixed_precision is the recipe's: its fp8 and fp4 presets are many.");
  }
  if (freezes_weights(t.scenario.job)) {
    launch.notes.emplace_back("The recipe must be one with LoRA (--peft_scheme lora).");
  }
  launch.notes.emplace_back("Overrides of a recipe of the model, which they leave out.");
  return launch;
}

}  // namespace meshwright::interop
