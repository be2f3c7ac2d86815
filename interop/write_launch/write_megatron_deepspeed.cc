// SPDX-License-Identifier: Apache-2.0
// BLOOM's software says fewer things than Megatron-LM, in part by other names.
#include "interop/write_launch/launch.h"
#include "interop/write_launch/settings_text.h"
#include "interop/write_launch/vocabulary.h"
#include "sim/layout/layout.h"

namespace meshwright::interop {
namespace {

const Vocabulary& megatron_deepspeed_vocabulary() {
  static const Vocabulary words{"tensor_parallel_size",
                                "pipeline_parallel_size",
                                "recompute_granularity",
                                "account_for_embedding_in_pipeline_split",
                                "account_for_loss_in_pipeline_split",
                                "zero_stage"};
  return words;
}

}  // namespace

std::string megatron_deepspeed_layout_refusal(const Training& t) {
  const Layout& l = t.layout;
  if (l.recompute_granularity == RecomputeGranularity::selective ||
      (l.recompute_granularity == RecomputeGranularity::full && l.recompute_num_layers > 0 &&
       l.recompute_method == RecomputeMethod::block)) {
    return "it recomputes all layers or none";
  }
  if (l.virtual_pipeline_parallel_size > 1) return "it does not interleave";
  if (l.pipeline_layout || l.num_layers_in_first_pipeline_stage > 0 ||
      l.num_layers_in_last_pipeline_stage > 0 ||
      l.account_for_embedding_in_pipeline_split != l.account_for_loss_in_pipeline_split) {
    return "it parts layers by type only";
  }
  if (l.sequence_parallel || l.context_parallel_size > 1 || offloads_activations(l)) {
    return "it has no sequence or context parallelism";
  }
  if (t.scenario.job.precision == Precision::bf16 && l.zero_stage != 1) {
    return "its bf16 optimizer shards its state at every stage";
  }
  return megatron_deepspeed_vocabulary().refusal(l, t.scenario.model,
                                                 t.scenario.cluster.framework.defaults.layout);
}

std::vector<LaunchSetting> megatron_deepspeed_layout_settings(const Training& t) {
  const Layout& l = t.layout;
  SettingsList s;
  s.set("--tensor-model-parallel-size", l.tensor_parallel_size);
  s.set("--pipeline-model-parallel-size", l.pipeline_parallel_size);
  s.set("--micro-batch-size", l.micro_batch_size);
  const bool full = l.recompute_granularity == RecomputeGranularity::full;
  s.set_if(full, "--checkpoint-activations", "");
  s.set_if(full, "--deepspeed-activation-checkpointing", "");
  s.set_if(l.account_for_embedding_in_pipeline_split, "--pp-partition-method",
           "type:transformer|embedding");
  s.set_if(t.scenario.job.precision != Precision::bf16, "--zero-stage", l.zero_stage);
  return s.take();
}

}  // namespace meshwright::interop
