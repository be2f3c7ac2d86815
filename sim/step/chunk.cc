// SPDX-License-Identifier: Apache-2.0
#include "sim/step/chunk.h"

#include "sim/base/error.h"
#include "sim/volume/transfer.h"

namespace meshwright {
namespace {

void add_operator(ChunkWork& work, const Operator& op, bool recomputed, double times,
                  Precision precision, const Cluster& cluster) {
  const double factor =
      op.kind == OperatorKind::memory_bound
          ? cluster.framework.kernel_time_factor
          : cluster.framework.gemm_time_factor / cluster.device.sustained_clock_fraction;
  const auto scaled = [times, factor](Cost cost) {
    cost.time *= times * factor;
    return cost;
  };
  const Cost forward = scaled(forward_cost(op, precision, cluster.device));
  const BackwardCost backward = backward_cost(op, precision, cluster.device);
  work.forward = work.forward + forward;
  work.backward_input = work.backward_input + scaled(backward.input);
  if (op.has_weight) work.backward_weight = work.backward_weight + scaled(backward.weight);
  // The norm before an fp8 linear writes fp8 itself: nothing is launched for its input.
  if (forward.time > seconds(0)) work.forward_launches += times;
  work.backward_launches += times * (op.kind == OperatorKind::gemm ? 2.0 : 1.0);
  if (recomputed) {
    work.recompute = work.recompute + forward;
    work.backward_launches += times;
  }
}

void add_operators(ChunkWork& work, const std::vector<Operator>& ops, double times, bool whole,
                   const Job& job, const Layout& layout, const Cluster& cluster) {
  for (const Operator& op : ops) {
    add_operator(work, op, is_recomputed(op, layout, whole), times, job.precision, cluster);
  }
}

Cost* axis_of(CommunicationCost& cost, Group group) {
  switch (group) {
    case Group::tensor:
    case Group::expert_tensor:
      return &cost.tensor;
    case Group::context:
      return &cost.context;
    case Group::expert:
      return &cost.expert;
    default:
      return nullptr;  // ZeRO traffic is a stage's: it depends on the data size
  }
}

void add_communication(ChunkWork& work, const Model& model, const Cluster& cluster, const Job& job,
                       const Layout& layout, const Chunk& chunk) {
  for (const Transfer& transfer : chunk_transfers(model, job, layout, chunk, chunk.num_layers)) {
    const bool forward = transfer.phase == Phase::forward;
    CommunicationCost& exposed = forward ? work.forward_exposed : work.backward_exposed;
    CommunicationCost& hidden = forward ? work.forward_hidden : work.backward_hidden;
    Cost* axis = axis_of(transfer.overlappable ? hidden : exposed, transfer.group);
    if (axis == nullptr) continue;
    *axis = *axis + transfer_cost(transfer, layout, cluster);
    (forward ? work.forward_launches : work.backward_launches) += transfer.times_per_step;
  }
}

void add(CommunicationCost& to, const CommunicationCost& from, double count) {
  to.tensor = to.tensor + times(from.tensor, count);
  to.context = to.context + times(from.context, count);
  to.expert = to.expert + times(from.expert, count);
}

// Each axis's hidden communication, in turn, against the compute that is left to hide behind.
CommunicationCost exposed(CommunicationCost sum, const CommunicationCost& hidden, Seconds compute,
                          double overlap_slowdown) {
  const auto hide = [&](Cost& to, const Cost& from) {
    if (from.time == seconds(0)) return;
    to = to + with_time(from, exposed_time(from.time, compute, overlap_slowdown));
    compute -= std::min(compute, from.time);
  };
  hide(sum.tensor, hidden.tensor);
  hide(sum.context, hidden.context);
  hide(sum.expert, hidden.expert);
  return sum;
}

int first_layer_of(const Model& model, LayerKind kind) {
  for (int i = 0; i < model.num_layers; ++i) {
    if (layer_kind(model, i) == kind) return i;
  }
  invariant(false, "a layer of a kind that the model does not have");
  return 0;
}

// What the cost of a layer does not read is set to its default; ZeRO's traffic is a stage's.
Layout layout_of_layer(Layout layout, bool recomputed_whole) {
  layout.zero_stage = 0;
  layout.recompute_num_layers = 0;
  if (recomputed_whole) {
    layout.recompute_granularity = RecomputeGranularity::full;
  } else if (layout.recompute_granularity == RecomputeGranularity::full) {
    layout.recompute_granularity = RecomputeGranularity::none;
  }
  return layout;
}

}  // namespace

ChunkWork layer_work(const Model& model, const Cluster& cluster, const Job& job,
                     const Layout& layout, LayerKind kind, bool recomputed_whole) {
  const Layout alone = layout_of_layer(layout, recomputed_whole);
  ChunkWork work;
  add_operators(work, layer_operators(model, kind, job, alone), 1, recomputed_whole, job, alone,
                cluster);
  Chunk chunk;
  chunk.first_layer = first_layer_of(model, kind);
  chunk.num_layers = 1;
  add_communication(work, model, cluster, job, alone, chunk);
  return work;
}

ChunkWork embedding_work(const Model& model, const Cluster& cluster, const Job& job,
                         const Layout& layout) {
  const Layout alone = layout_of_layer(layout, false);
  ChunkWork work;
  add_operators(work, embedding_operators(model, job, alone), 1, false, job, alone, cluster);
  Chunk chunk;
  chunk.embedding = true;
  add_communication(work, model, cluster, job, alone, chunk);
  return work;
}

ChunkWork head_work(const Model& model, const Cluster& cluster, const Job& job,
                    const Layout& layout) {
  const bool recomputed = mtp_is_recomputed(layout);
  const Layout alone = layout_of_layer(layout, recomputed);
  ChunkWork work;
  const int mtp = model.mtp_num_layers;
  add_operators(work, head_operators(model, job, alone), 1 + mtp, false, job, alone, cluster);
  if (mtp > 0) {
    const LayerKind last = layer_kind(model, model.num_layers - 1);
    add_operators(work, layer_operators(model, last, job, alone), mtp, recomputed, job, alone,
                  cluster);
    // Each looks the next tokens up again.
    add_operators(work, embedding_operators(model, job, alone), mtp, false, job, alone, cluster);
    add_operators(work, mtp_operators(model, job, alone), mtp, false, job, alone, cluster);
  }
  Chunk chunk;
  chunk.head = true;
  add_communication(work, model, cluster, job, alone, chunk);
  return work;
}

void add(ChunkWork& to, const ChunkWork& from, double count) {
  to.forward = to.forward + times(from.forward, count);
  to.backward_input = to.backward_input + times(from.backward_input, count);
  to.backward_weight = to.backward_weight + times(from.backward_weight, count);
  to.recompute = to.recompute + times(from.recompute, count);
  add(to.forward_exposed, from.forward_exposed, count);
  add(to.backward_exposed, from.backward_exposed, count);
  add(to.forward_hidden, from.forward_hidden, count);
  add(to.backward_hidden, from.backward_hidden, count);
  to.forward_launches += from.forward_launches * count;
  to.backward_launches += from.backward_launches * count;
}

ChunkCost chunk_cost(const ChunkWork& work, const Cluster& cluster) {
  const double slowdown = cluster.device.overlap_slowdown;
  ChunkCost cost;
  cost.forward = work.forward;
  cost.backward_input = work.backward_input;
  cost.backward_weight = work.backward_weight;
  cost.recompute = work.recompute;
  cost.forward_communication =
      exposed(work.forward_exposed, work.forward_hidden, work.forward.time, slowdown);
  cost.backward_communication =
      exposed(work.backward_exposed, work.backward_hidden,
              work.backward_input.time + work.backward_weight.time, slowdown);
  const Seconds launch = std::max(cluster.device.host_launch, cluster.framework.host_launch);
  cost.forward_host = host_time(launch * work.forward_launches, cost.forward_time());
  cost.backward_host = host_time(launch * work.backward_launches, cost.backward_time());
  return cost;
}

}  // namespace meshwright
