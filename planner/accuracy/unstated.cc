// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/unstated.h"

#include <algorithm>

#include "sim/schedule/traits.h"

namespace meshwright::planner {
namespace {

// Models with learned positions in 16 bits: what Megatron-LM trained before fused attention.
bool is_gpt2_generation(const Model& model, const Job& job) {
  const bool half = job.precision == Precision::fp16 || job.precision == Precision::bf16;
  return model.position_embedding == PositionEmbedding::learned && half;
}

// Rotary models came with sequence parallelism beside every tensor parallelism.
bool shares_sequence(const Model& model, const Job& job, const Layout& layout) {
  return model.position_embedding == PositionEmbedding::rope && layout.tensor_parallel_size > 1 &&
         job.seq_length % (layout.tensor_parallel_size * layout.context_parallel_size) == 0;
}

bool scatters_gathers(const Job& job, const Layout& layout) {
  return job.precision == Precision::fp16 && !layout.sequence_parallel &&
         layout.tensor_parallel_size > 1 && layout.pipeline_parallel_size > 1;
}

// Megatron-LM of 2021 had no softmax but the fused one, which takes (sequence, head) pairs in
// fours.
int smallest_micro_batch(const Model& model, const Job& job, const Layout& layout) {
  constexpr int kSoftmaxBlock = 4;
  const int heads = model.num_attention_heads / std::max(1, layout.tensor_parallel_size);
  for (int size = 1; size <= kSoftmaxBlock; size *= 2) {
    const bool divides = job.global_batch_size % (size * layout.data_parallel_size) == 0;
    if (divides && heads * size % kSoftmaxBlock == 0) return size;
  }
  return 1;
}

// Chunks and stages, of layers that divide with the embedding and the loss counted, or without.
void set_stages(Layout& layout, const StatedKeys& stated, const Model& model) {
  if (layout.pipeline_layout) return;
  const int stages = layout.pipeline_parallel_size;
  const bool uneven = layout.pipeline_engine != PipelineEngine::nanotron &&
                      model.num_layers % stages != 0 && (model.num_layers + 2) % stages == 0 &&
                      stages > 1;
  // Where not even the micro-batch is known, nothing is assumed about the chunks either.
  const bool free_chunks = traits(layout.schedule).any_number_of_chunks();
  if (free_chunks && stated.contains("micro_batch_size") &&
      !stated.contains("virtual_pipeline_parallel_size")) {
    const int layers_a_stage = (model.num_layers + (uneven ? 2 : 0)) / stages;
    layout.virtual_pipeline_parallel_size = stages > 2 ? layers_a_stage : 1;
  }
  if (free_chunks && layout.virtual_pipeline_parallel_size == 1) layout.schedule = kDefaultSchedule;
  const bool says_ends = stated.contains("num_layers_in_first_pipeline_stage") ||
                         stated.contains("num_layers_in_last_pipeline_stage");
  if (uneven && !says_ends) {
    layout.account_for_embedding_in_pipeline_split = true;
    layout.account_for_loss_in_pipeline_split = true;
  }
}

}  // namespace

Job with_unstated(Job job, const StatedKeys& stated, const Model& model) {
  if (!is_gpt2_generation(model, job)) return job;
  if (!stated.contains("attention_kernel")) job.attention_kernel = AttentionKernel::unfused;
  if (!stated.contains("dropout")) job.dropout = true;
  if (!stated.contains("gradient_precision") && job.precision == Precision::fp16) {
    job.gradient_precision = Precision::fp16;
  }
  return job;
}

Layout with_unstated(Layout layout, const StatedKeys& stated, const Model& model, const Job& job,
                     int gpus) {
  const bool gpt2_generation = is_gpt2_generation(model, job);
  if (!stated.contains("sequence_parallel")) {
    layout.sequence_parallel = shares_sequence(model, job, layout);
  }
  const int others =
      layout.tensor_parallel_size * layout.pipeline_parallel_size * layout.context_parallel_size;
  if (!stated.contains("data_parallel_size") && gpus % others == 0) {
    layout.data_parallel_size = gpus / others;
  }
  set_stages(layout, stated, model);
  if (!stated.contains("micro_batch_size") && gpt2_generation) {
    layout.micro_batch_size = smallest_micro_batch(model, job, layout);
  }
  if (!stated.contains("overlap_p2p_comm") && !gpt2_generation) {
    layout.overlap_p2p_comm = traits(layout.schedule).overlaps_sends;
  }
  if (!stated.contains("scatter_gather_p2p")) {
    layout.scatter_gather_p2p = gpt2_generation && scatters_gathers(job, layout);
  }
  return layout;
}

}  // namespace meshwright::planner
