// SPDX-License-Identifier: Apache-2.0
// What a layout changes in NeMo's YAML of 2023 to 2024; nothing is written whole for it.
#include "interop/write_launch/launch.h"
#include "interop/write_launch/model_sizes.h"
#include "interop/write_launch/settings_text.h"
#include "sim/layout/layout.h"

namespace meshwright::interop {

std::string nemo_layout_refusal(const Training& t) {
  const Layout& l = t.layout;
  if (l.num_layers_in_first_pipeline_stage > 0 || l.num_layers_in_last_pipeline_stage > 0) {
    return "uneven stages are not written here";
  }
  if (l.recompute_granularity == RecomputeGranularity::selective &&
      l.recompute_modules != Layout{}.recompute_modules) {
    return "its selective recompute is of core attention";
  }
  if (l.optimizer_offload || l.cpu_offloading_num_layers > 0) return "offload is not written here";
  if (l.overlap_moe_expert_parallel_comm || l.moe_shared_expert_overlap) {
    return "overlap of experts' messages is not written here";
  }
  if (t.scenario.model.moe && l.moe_token_dispatcher_type == MoeTokenDispatcherType::flex) {
    return "flex dispatchers are not written here";
  }
  return megatron_bridge_layout_refusal(t);
}

std::vector<LaunchSetting> nemo_layout_settings(const Training& t) {
  const Layout& l = t.layout;
  SettingsList s;
  set_model_sizes(s, t);
  s.set("model.ub_tp_comm_overlap", l.tp_comm_overlap);
  s.set("model.overlap_p2p_comm", l.overlap_p2p_comm);
  using enum RecomputeGranularity;
  if (l.recompute_granularity != none) {
    s.set("model.activations_checkpoint_granularity", name_of(l.recompute_granularity));
  }
  if (l.recompute_granularity == full) {
    const bool some = l.recompute_num_layers > 0 && l.recompute_method == RecomputeMethod::block;
    s.set("model.activations_checkpoint_method", std::string_view(some ? "block" : "uniform"));
    s.set("model.activations_checkpoint_num_layers",
          some ? l.recompute_num_layers / l.virtual_pipeline_parallel_size : 1);
  }
  s.set("model.optim.name",
        std::string_view(l.zero_stage > 0 ? "distributed_fused_adam" : "fused_adam"));
  s.set_if(l.zero_stage > 0, "model.optim.overlap_grad_sync", l.overlap_grad_reduce);
  s.set_if(l.zero_stage > 0, "model.optim.overlap_param_sync", l.overlap_param_gather);
  s.set("model.micro_batch_size", l.micro_batch_size);
  s.set("model.global_batch_size", t.scenario.job.global_batch_size);
  return s.take();
}

}  // namespace meshwright::interop
