// SPDX-License-Identifier: Apache-2.0
// The parts that the ledger is put together from: one function for each axis. Private to sim/cost.
#pragma once

#include <string_view>
#include <vector>

#include "sim/base/narrow_format.h"
#include "sim/layout/token_shape.h"
#include "sim/volume/volume.h"

namespace meshwright {

// Inputs of every part, with the sizes that all of them use.
struct VolumeScope {
  VolumeScope(const Model& m, const Job& j, const Layout& l)
      : model(m), job(j), layout(l), micro_batch(micro_batch_tokens(j, l)) {}
  const Model& model;
  const Job& job;
  const Layout& layout;
  TokenShape micro_batch;

  // b*s/c: tokens of a micro-batch on one context rank.
  [[nodiscard]] double tokens() const {
    return static_cast<double>(meshwright::tokens(micro_batch));
  }
  // An activation of `width` columns: b*s*width*w/c.
  [[nodiscard]] Bytes activation(double width) const {
    return bytes(tokens() * width * activation_bytes(job.precision));
  }
  // The same as a linear takes it: in fp8 cast before it is gathered (Transformer Engine,
  // gather_along_first_dim of the norm's fp8 output and of the cast gradient).
  [[nodiscard]] Bytes operand(double width) const {
    return bytes(tokens() * width * operand_bytes(job));
  }
};

// Collectives that recompute by operator (recompute_modules op) makes again. DTensor's keeps what
// reductions and exchanges put out, and gathers again; spmd_types keeps neither (torchtitan 0.3.0,
// distributed/activation_checkpoint.py).
constexpr bool op_gathers_again(const Layout& l) {
  return uses_dtensor(l) && recomputes_module(l, kRecomputeOp);
}
constexpr bool op_reduces_again(const Layout& l) {
  return l.tensor_engine == TensorEngine::spmd_types && recomputes_module(l, kRecomputeOp);
}

// Tells whether each unit of weights that nothing shards is summed by itself (torch's composable
// replicate); else a stage's gradients are, in buckets (DistributedDataParallel).
constexpr bool replicates_units(const TrainingJob& job, const Layout& l) {
  return job.replicates_units && l.fsdp_unit != FsdpUnit::none && l.zero_stage == 0;
}

struct UnitCounts {
  LayerCounts layers;      // with the multi-token-prediction layers of the head
  LayerCounts recomputed;  // layers that the backward pass recomputes whole
  double embeddings = 0;   // look-ups
  double heads = 0;        // logits and loss
  double mtp = 0;          // projections of multi-token prediction
  double mtp_again = 0;    // depths that the backward pass recomputes
};

// Collects transfers; leaves out what moves nothing.
class Ledger {
 public:
  void add(const Transfer& transfer) {
    const bool moves =
        transfer.group_size > 1 && transfer.times_per_step > 0 && transfer.payload > bytes(0);
    if (moves) transfers_.push_back(transfer);
  }
  // A call of the tensor group.
  void add_tensor_call(const VolumeScope& scope, std::string_view name, Collective collective,
                       Phase phase, double times, Bytes payload, std::string_view formula,
                       bool overlappable) {
    add({.name = name,
         .group = Group::tensor,
         .collective = collective,
         .phase = phase,
         .group_size = scope.layout.tensor_parallel_size,
         .times_per_step = times,
         .payload = payload,
         .overlappable = overlappable,
         .formula = formula});
  }
  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }

 private:
  std::vector<Transfer> transfers_;
};

// For one micro-batch.
void add_tensor_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls);
void add_vocabulary_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls);
void add_context_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls);
void add_expert_transfers(Ledger& ledger, const VolumeScope& scope, const UnitCounts& calls);
// `recomputed`: its layers are run again whole.
void add_zero_transfers(Ledger& ledger, const VolumeScope& scope, const Chunk& chunk,
                        bool recomputed);

// For one step.
void add_pipeline_transfers(Ledger& ledger, const VolumeScope& scope, const Stage& stage,
                            int stage_index);
void add_gradient_transfers(Ledger& ledger, const VolumeScope& scope, const Stage& stage,
                            int stage_index);
void add_shared_parameter_transfers(Ledger& ledger, const VolumeScope& scope, const Stage& stage);
void add_scalar_transfers(Ledger& ledger, const VolumeScope& scope, const Stage& stage);

}  // namespace meshwright
