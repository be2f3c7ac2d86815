// SPDX-License-Identifier: Apache-2.0
// A model of four small layers, a job for it, and two pipeline stages.
#pragma once

#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright {

inline Model tiny_model() {
  Model model;
  model.num_layers = 4;
  model.hidden_size = 64;
  model.ffn_hidden_size = 256;
  model.num_attention_heads = 4;
  model.num_query_groups = 4;
  model.kv_channels = 16;
  model.vocab_size = 1000;
  model.max_position_embeddings = 128;
  return model;
}

inline Layout two_stages() {
  Layout layout;
  layout.pipeline_parallel_size = 2;
  return layout;
}

inline Job tiny_job() {
  Job job;
  job.seq_length = 128;
  job.global_batch_size = 8;
  return job;
}

}  // namespace meshwright
