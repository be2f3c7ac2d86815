// SPDX-License-Identifier: Apache-2.0
// What a stage sends to its neighbours: b*s*h*w/c forward and the same backward, for each
// micro-batch and chunk border (Megatron-LM core/pipeline_parallel).
#include "sim/block/transfer_names.h"
#include "sim/schedule/traits.h"
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

// Hidden states of a micro-batch that cross chunk borders of a stage to another rank.
struct Borders {
  double forward_out = 0;   // activations sent; as many gradients come in
  double backward_out = 0;  // gradients sent; as many activations come in
};

Borders borders_of(const VolumeScope& scope, const Stage& stage, int stage_index) {
  // A V turns round in the last stage: its two chunks follow one another on the same rank.
  const bool turns = traits(scope.layout.schedule).folded() &&
                     stage_index == scope.layout.pipeline_parallel_size - 1;
  Borders borders;
  for (std::size_t i = 0; i < stage.chunks.size(); ++i) {
    const bool next_is_here = turns && i % 2 == 0;
    const bool previous_is_here = turns && i % 2 == 1;
    const Chunk& chunk = stage.chunks[i];
    if (!chunk.head && !next_is_here) borders.forward_out += chunk.hidden_states_out;
    if (!chunk.embedding && !previous_is_here) borders.backward_out += chunk.hidden_states_in;
  }
  return borders;
}

// Bytes of the tokens' residual streams.
Bytes stage_payload(const Model& model, const Job& job, const Layout& layout) {
  return VolumeScope(model, job, layout)
      .activation(1.0 * model.num_residual_streams * model.hidden_size);
}

}  // namespace

bool scatters_sends(const Layout& layout) {
  const bool asked =
      layout.scatter_gather_p2p || layout.pipeline_engine == PipelineEngine::deepspeed;
  return asked && !layout.sequence_parallel && layout.tensor_parallel_size > 1;
}

Transfer stage_send(const Model& model, const Job& job, const Layout& layout) {
  const bool pieces = layout.sequence_parallel || scatters_sends(layout);
  const Bytes whole = stage_payload(model, job, layout);
  return {.name = transfer_names::kActivationSend,
          .group = Group::pipeline,
          .collective = Collective::send_recv,
          .phase = Phase::forward,
          .group_size = 2,
          .times_per_step = 1,
          .payload = pieces ? whole / layout.tensor_parallel_size : whole,
          .overlappable = layout.overlap_p2p_comm,
          .formula = model.num_residual_streams > 1 ? (pieces ? "n*b*s*h*w/(c*t)" : "n*b*s*h*w/c")
                     : pieces                       ? "b*s*h*w/(c*t)"
                                                    : "b*s*h*w/c"};
}

Transfer received_gather(const Model& model, const Job& job, const Layout& layout) {
  return {.name = transfer_names::kReceivedActivationGather,
          .group = Group::tensor,
          .collective = Collective::all_gather,
          .phase = Phase::forward,
          .group_size = layout.tensor_parallel_size,
          .times_per_step = 1,
          .payload = stage_payload(model, job, layout),
          .overlappable = false,
          .formula = model.num_residual_streams > 1 ? "n*b*s*h*w/c" : "b*s*h*w/c"};
}

void add_pipeline_transfers(Ledger& ledger, const VolumeScope& scope, const Stage& stage,
                            int stage_index) {
  const Layout& layout = scope.layout;
  if (layout.pipeline_parallel_size == 1) return;
  const Borders borders = borders_of(scope, stage, stage_index);
  const double micro_batches = micro_batches_of_chunk(scope.job, layout);
  const auto send = [&](std::string_view name, Phase phase, double times) {
    Transfer transfer = stage_send(scope.model, scope.job, layout);
    transfer.name = name;
    transfer.phase = phase;
    transfer.times_per_step = times * micro_batches;
    ledger.add(transfer);
  };
  send(transfer_names::kActivationSend, Phase::forward, borders.forward_out);
  send(transfer_names::kActivationGradientSend, Phase::backward, borders.backward_out);
  if (!scatters_sends(layout)) return;
  // The receiver puts the pieces together over its tensor group (Narayanan 2021, section 4.1).
  const auto gather = [&](std::string_view name, Phase phase, double times) {
    Transfer transfer = received_gather(scope.model, scope.job, layout);
    transfer.name = name;
    transfer.phase = phase;
    transfer.times_per_step = times * micro_batches;
    ledger.add(transfer);
  };
  gather(transfer_names::kReceivedActivationGather, Phase::forward, borders.backward_out);
  gather(transfer_names::kReceivedGradientGather, Phase::backward, borders.forward_out);
}

}  // namespace meshwright
