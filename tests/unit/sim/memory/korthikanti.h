// SPDX-License-Identifier: Apache-2.0
// The four models of Korthikanti 2022 (arXiv 2205.05198, table 3) as they ran: tensor size 8,
// sequence 2048, fp16, dropout, unfused attention; and a layer of today beside them.
#pragma once

#include <utility>

#include "sim/base/job.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/memory/unit_bytes.h"
#include "sim/model/model.h"

namespace meshwright {

struct PublishedRun {
  Model model;
  Job job;
  Layout layout;
};

struct PublishedSizes {
  int layers, hidden, heads, stages, chunks, batch, micro_batch;
};

inline PublishedRun korthikanti_run(PublishedSizes sizes) {
  PublishedRun setup;
  setup.model.num_layers = sizes.layers;
  setup.model.hidden_size = sizes.hidden;
  setup.model.ffn_hidden_size = 4 * sizes.hidden;
  setup.model.num_attention_heads = sizes.heads;
  setup.model.num_query_groups = sizes.heads;
  setup.model.kv_channels = sizes.hidden / sizes.heads;
  setup.model.vocab_size = 51200;
  setup.model.max_position_embeddings = 2048;
  setup.job.seq_length = 2048;
  setup.job.global_batch_size = sizes.batch;
  setup.job.precision = Precision::fp16;
  setup.job.attention_kernel = AttentionKernel::unfused;
  setup.job.dropout = true;
  setup.layout.tensor_parallel_size = 8;
  setup.layout.pipeline_parallel_size = sizes.stages;
  setup.layout.virtual_pipeline_parallel_size = sizes.chunks;
  setup.layout.micro_batch_size = sizes.micro_batch;
  if (sizes.chunks > 1) setup.layout.schedule = PipelineSchedule::interleaved;
  return setup;
}
inline PublishedRun korthikanti_22b() { return korthikanti_run({48, 6144, 64, 1, 1, 4, 4}); }
inline PublishedRun korthikanti_175b() { return korthikanti_run({96, 12288, 96, 8, 3, 64, 1}); }
inline PublishedRun korthikanti_530b() { return korthikanti_run({105, 20480, 128, 35, 3, 280, 1}); }
inline PublishedRun korthikanti_1t() { return korthikanti_run({128, 25600, 160, 64, 1, 512, 1}); }

// One Llama-like layer: h 4096, f 14336, 8 of 32 heads for keys and values, 4096 positions.
inline PublishedRun modern_layer() {
  PublishedRun setup;
  setup.model.num_layers = 1;
  setup.model.hidden_size = 4096;
  setup.model.ffn_hidden_size = 14336;
  setup.model.num_attention_heads = 32;
  setup.model.num_query_groups = 8;
  setup.model.kv_channels = 128;
  setup.model.vocab_size = 128256;
  setup.model.activation = Activation::swiglu;
  setup.model.normalization = Normalization::rms_norm;
  setup.model.position_embedding = PositionEmbedding::rope;
  setup.model.add_bias_linear = false;
  setup.model.tied_embeddings = false;
  setup.job.seq_length = 4096;
  return setup;
}

inline HeldBytes chunk_activations(const PublishedRun& setup, const Stage& stage,
                                   std::size_t chunk) {
  return chunk_activations(unit_bytes(setup.model, setup.job, setup.layout),
                           chunk_layers(setup.model, setup.layout, stage, chunk),
                           stage.chunks[chunk]);
}

// The layers of the first stage without embedding and head, as figure 1 counts them.
inline Stage layers_only(const PublishedRun& setup) {
  Stage stage = pipeline_stages(setup.model, setup.layout).front();
  for (Chunk& chunk : stage.chunks) chunk.embedding = chunk.head = false;
  return stage;
}

inline Layout sharded_over(int data, int zero_stage) {
  Layout layout;
  layout.data_parallel_size = data;
  layout.zero_stage = zero_stage;
  return layout;
}

}  // namespace meshwright
