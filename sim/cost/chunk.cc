// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/chunk.h"

#include <algorithm>
#include <array>

#include "sim/cost/host.h"
#include "sim/cost/transfer.h"

namespace meshwright {
namespace {

// Kernels that a phase launches and the compute they do.
struct Work {
  Cost forward, backward_input, backward_weight, recompute;
  double forward_kernels = 0, backward_kernels = 0;
};

void add_operator(Work& work, const Operator& op, bool recomputed, double times,
                  Precision precision, const Cluster& cluster) {
  const double factor = op.kind == OperatorKind::memory_bound ? cluster.framework.kernel_time_factor
                                                              : cluster.framework.gemm_time_factor;
  const auto scaled = [times, factor](Cost cost) {
    cost.time *= times * factor;
    return cost;
  };
  const Cost forward = scaled(forward_cost(op, precision, cluster.device));
  const BackwardCost backward = backward_cost(op, precision, cluster.device);
  work.forward = work.forward + forward;
  work.backward_input = work.backward_input + scaled(backward.input);
  if (op.has_weight) work.backward_weight = work.backward_weight + scaled(backward.weight);
  work.forward_kernels += times;
  work.backward_kernels += times * (op.kind == OperatorKind::gemm ? 2.0 : 1.0);
  if (recomputed) {
    work.recompute = work.recompute + forward;
    work.backward_kernels += times;
  }
}

void add_operators(Work& work, const std::vector<Operator>& ops, double times,
                   double recomputed_times, const Job& job, const Layout& layout,
                   const Cluster& cluster) {
  for (const Operator& op : ops) {
    if (recomputed_times > 0)
      add_operator(work, op, true, recomputed_times, job.precision, cluster);
    if (times > recomputed_times) {
      add_operator(work, op, is_recomputed(op, layout, false), times - recomputed_times,
                   job.precision, cluster);
    }
  }
}

constexpr int kLayerKinds = 4;
int kind_index(LayerKind kind) {
  return (kind.mixture_of_experts ? 2 : 0) + (kind.sliding_window ? 1 : 0);
}

Work chunk_work(const Model& model, const Cluster& cluster, const Job& job, const Layout& layout,
                const Chunk& chunk, int stage_layers) {
  Work work;
  std::array<int, kLayerKinds> count{};
  std::array<LayerKind, kLayerKinds> kinds{};
  for (int i = chunk.first_layer; i < chunk.first_layer + chunk.num_layers; ++i) {
    const LayerKind kind = layer_kind(model, i);
    kinds[static_cast<std::size_t>(kind_index(kind))] = kind;
    ++count[static_cast<std::size_t>(kind_index(kind))];
  }
  // Recomputed layers are spread evenly over a stage's layers.
  const double recomputed_share =
      stage_layers == 0
          ? 0.0
          : static_cast<double>(fully_recomputed_layers(layout, stage_layers)) / stage_layers;
  for (std::size_t i = 0; i < kLayerKinds; ++i) {
    if (count[i] == 0) continue;
    add_operators(work, layer_operators(model, kinds[i], job, layout), count[i],
                  count[i] * recomputed_share, job, layout, cluster);
  }
  if (chunk.embedding)
    add_operators(work, embedding_operators(model, job, layout), 1, 0, job, layout, cluster);
  if (chunk.head) {
    add_operators(work, head_operators(model, job, layout), 1 + model.mtp_num_layers, 0, job,
                  layout, cluster);
    if (model.mtp_num_layers > 0) {
      const LayerKind last = layer_kind(model, model.num_layers - 1);
      add_operators(work, layer_operators(model, last, job, layout), model.mtp_num_layers,
                    mtp_is_recomputed(layout) ? model.mtp_num_layers : 0, job, layout, cluster);
      // Each looks the next tokens up again.
      add_operators(work, embedding_operators(model, job, layout), model.mtp_num_layers, 0, job,
                    layout, cluster);
      add_operators(work, mtp_operators(model, job, layout), model.mtp_num_layers, 0, job, layout,
                    cluster);
    }
  }
  return work;
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

struct Communication {
  CommunicationCost exposed[2];  // forward, backward
  CommunicationCost hidden[2];
  double calls[2] = {0, 0};
};

Communication chunk_communication(const Model& model, const Cluster& cluster, const Job& job,
                                  const Layout& layout, const Chunk& chunk, int stage_layers) {
  Communication sum;
  for (const Transfer& transfer : chunk_transfers(model, job, layout, chunk, stage_layers)) {
    const int phase = transfer.phase == Phase::forward ? 0 : 1;
    Cost* axis =
        axis_of(transfer.overlappable ? sum.hidden[phase] : sum.exposed[phase], transfer.group);
    if (axis == nullptr) continue;
    *axis = *axis + transfer_cost(transfer, layout, cluster);
    sum.calls[phase] += transfer.times_per_step;
  }
  return sum;
}

// Each axis's hidden communication, in turn, against the compute that is left to hide behind.
void expose(CommunicationCost& exposed, const CommunicationCost& hidden, Seconds compute,
            double overlap_slowdown) {
  const auto add = [&](Cost& to, Cost from) {
    if (from.time == seconds(0)) return;
    const Seconds communication = from.time;
    from.time = exposed_time(communication, compute, overlap_slowdown);
    compute -= std::min(compute, communication);
    to = to + from;
  };
  add(exposed.tensor, hidden.tensor);
  add(exposed.context, hidden.context);
  add(exposed.expert, hidden.expert);
}

}  // namespace

Seconds exposed_time(Seconds communication, Seconds compute, double overlap_slowdown) {
  const Seconds beside = std::min(communication, compute);
  return communication - beside + overlap_slowdown * beside;
}

ChunkCost chunk_cost(const Model& model, const Cluster& cluster, const Job& job,
                     const Layout& layout, const Chunk& chunk, int stage_layers) {
  const Work work = chunk_work(model, cluster, job, layout, chunk, stage_layers);
  Communication communication =
      chunk_communication(model, cluster, job, layout, chunk, stage_layers);
  ChunkCost cost;
  cost.forward = work.forward;
  cost.backward_input = work.backward_input;
  cost.backward_weight = work.backward_weight;
  cost.recompute = work.recompute;
  expose(communication.exposed[0], communication.hidden[0], work.forward.time,
         cluster.device.overlap_slowdown);
  expose(communication.exposed[1], communication.hidden[1],
         work.backward_input.time + work.backward_weight.time, cluster.device.overlap_slowdown);
  cost.forward_communication = communication.exposed[0];
  cost.backward_communication = communication.exposed[1];
  const Seconds launch = std::max(cluster.device.host_launch, cluster.framework.host_launch);
  const Seconds forward_host = launch * (work.forward_kernels + communication.calls[0]);
  const Seconds backward_host = launch * (work.backward_kernels + communication.calls[1]);
  cost.host =
      host_time(forward_host, cost.forward_time()) + host_time(backward_host, cost.backward_time());
  return cost;
}

}  // namespace meshwright
