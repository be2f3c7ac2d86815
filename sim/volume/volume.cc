// SPDX-License-Identifier: Apache-2.0
#include "sim/volume/volume.h"

#include <algorithm>

#include "sim/collective/collective.h"
#include "sim/operators/operators.h"
#include "sim/schedule/traits.h"
#include "sim/volume/parts.h"

namespace meshwright {
namespace {

UnitCounts unit_counts(const Model& model, const Layout& layout, const Chunk& chunk,
                       int recomputed) {
  UnitCounts calls;
  for (int i = 0; i < chunk.num_layers; ++i) {
    const LayerKind kind = layer_kind(model, chunk.first_layer + i);
    calls.layers.of(kind) += 1;
    if (i < recomputed) calls.recomputed.of(kind) += 1;
  }
  calls.embeddings = chunk.embedding ? 1 : 0;
  if (chunk.head) calls.heads = 1 + model.mtp_num_layers;
  if (chunk.mtp) {
    calls.mtp = model.mtp_num_layers;
    // Multi-token prediction looks the next tokens up again, where its layers are.
    calls.embeddings += calls.mtp;
    const LayerKind last = layer_kind(model, model.num_layers - 1);
    calls.layers.of(last) += calls.mtp;
    if (mtp_is_recomputed(layout)) {
      calls.recomputed.of(last) += calls.mtp;
      calls.mtp_again = calls.mtp;
    }
  }
  return calls;
}

bool same_call(const Transfer& a, const Transfer& b) {
  return a.name == b.name && a.phase == b.phase && a.group == b.group && a.payload == b.payload;
}

void append_scaled(std::vector<Transfer>& to, const std::vector<Transfer>& from, double times) {
  for (Transfer transfer : from) {
    transfer.times_per_step *= times;
    const auto known = std::find_if(
        to.begin(), to.end(), [&](const Transfer& other) { return same_call(transfer, other); });
    if (known == to.end()) {
      to.push_back(transfer);
    } else {
      known->times_per_step += transfer.times_per_step;
    }
  }
}

}  // namespace

Bytes bytes_sent(Collective collective, Bytes payload, int group_size) {
  return payload * bus_factor(collective, group_size);
}

Bytes Transfer::sent() const { return bytes_sent(collective, payload, group_size); }

Bytes StageVolume::sent(Group group) const {
  Bytes sum;
  for (const Transfer& transfer : transfers) {
    if (transfer.group == group) sum += transfer.sent_per_step();
  }
  return sum;
}

Bytes StageVolume::sent() const {
  Bytes sum;
  for (const Transfer& transfer : transfers) sum += transfer.sent_per_step();
  return sum;
}

const StageVolume& Volume::busiest() const {
  return *std::max_element(
      stages.begin(), stages.end(),
      [](const StageVolume& a, const StageVolume& b) { return a.sent() < b.sent(); });
}

double micro_batches_of_chunk(const Job& job, const Layout& layout) {
  const double all = num_micro_batches(job.global_batch_size, layout);
  return traits(layout.schedule).mirrored() ? all / 2.0 : all;
}

std::vector<Transfer> chunk_transfers(const Model& model, const Job& job, const Layout& layout,
                                      const Chunk& chunk, int recomputed) {
  const VolumeScope scope(model, job, layout);
  const UnitCounts calls = unit_counts(model, layout, chunk, recomputed);
  Ledger ledger;
  add_tensor_transfers(ledger, scope, calls);
  add_vocabulary_transfers(ledger, scope, calls);
  add_context_transfers(ledger, scope, calls);
  add_expert_transfers(ledger, scope, calls);
  add_zero_transfers(ledger, scope, chunk, calls.recomputed.total() > 0);
  return ledger.transfers();
}

StageVolume stage_volume(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, int stage_index) {
  StageVolume result;
  result.stage = stage_index;
  const double micro_batches = micro_batches_of_chunk(job, layout);
  int recomputed = fully_recomputed_layers(layout, stage.num_layers());
  for (const Chunk& chunk : stage.chunks) {
    append_scaled(result.transfers, chunk_transfers(model, job, layout, chunk, recomputed),
                  micro_batches);
    recomputed = std::max(0, recomputed - chunk.num_layers);
  }
  const VolumeScope scope(model, job, layout);
  Ledger once;
  add_pipeline_transfers(once, scope, stage, stage_index);
  add_gradient_transfers(once, scope, stage, stage_index);
  add_shared_parameter_transfers(once, scope, stage);
  add_scalar_transfers(once, scope, stage);
  append_scaled(result.transfers, once.transfers(), 1.0);
  return result;
}

StageVolume data_volume(const Model& model, const Job& job, const Layout& layout,
                        const Stage& stage, int stage_index) {
  StageVolume result;
  result.stage = stage_index;
  const VolumeScope scope(model, job, layout);
  for (const Chunk& chunk : stage.chunks) {
    Ledger zero;
    add_zero_transfers(zero, scope, chunk, true);
    append_scaled(result.transfers, zero.transfers(), micro_batches_of_chunk(job, layout));
  }
  Ledger once;
  add_gradient_transfers(once, scope, stage, stage_index);
  add_shared_parameter_transfers(once, scope, stage);
  add_scalar_transfers(once, scope, stage);
  append_scaled(result.transfers, once.transfers(), 1.0);
  return result;
}

Volume volume(const Model& model, const Job& job, const Layout& layout) {
  Volume result;
  const std::vector<Stage> stages = pipeline_stages(model, layout);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    result.stages.push_back(stage_volume(model, job, layout, stages[i], static_cast<int>(i)));
  }
  return result;
}

}  // namespace meshwright
