// SPDX-License-Identifier: Apache-2.0
#include "interop/write_launch/model_sizes.h"

#include "sim/layout/layout.h"

namespace meshwright::interop {

void set_model_sizes(SettingsList& settings, const Training& training) {
  const Layout& l = training.layout;
  settings.set("model.tensor_model_parallel_size", l.tensor_parallel_size);
  settings.set("model.pipeline_model_parallel_size", l.pipeline_parallel_size);
  settings.set_if(l.virtual_pipeline_parallel_size > 1,
                  "model.virtual_pipeline_model_parallel_size", l.virtual_pipeline_parallel_size);
  settings.set("model.context_parallel_size", l.context_parallel_size);
  settings.set("model.sequence_parallel", l.sequence_parallel);
  settings.set_if(l.account_for_embedding_in_pipeline_split,
                  "model.account_for_embedding_in_pipeline_split", true);
  settings.set_if(l.account_for_loss_in_pipeline_split, "model.account_for_loss_in_pipeline_split",
                  true);
  if (!training.scenario.model.moe) return;
  settings.set("model.expert_model_parallel_size", l.expert_parallel_size);
  settings.set("model.expert_tensor_parallel_size", expert_tensor_size(l));
}

}  // namespace meshwright::interop
