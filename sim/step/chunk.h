// SPDX-License-Identifier: Apache-2.0
// What one micro-batch costs on one model chunk of one rank: its operators' times and the
// collectives that stand between them.
//
// Communication that can hide behind compute costs what sticks out, plus the slow-down of the
// compute it runs beside.
#pragma once

#include <algorithm>

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/kernel_time/compute.h"
#include "sim/kernel_time/host.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/model/model.h"
#include "sim/volume/volume.h"

namespace meshwright {

// Time that overlapped communication adds to the compute it hides behind:
// max(0, communication - compute) + slowdown * min(communication, compute).
inline Seconds exposed_time(Seconds communication, Seconds compute, double overlap_slowdown) {
  const Seconds beside = std::min(communication, compute);
  return communication - beside + overlap_slowdown * beside;
}

// Every sum below exists with a Cost's spread and provenance, for an estimate, and as bare Seconds,
// for a search: one formula, so that the seconds of both agree to the last bit.
template <typename Amount>
struct CommunicationOf {
  Amount tensor{}, context{}, expert{};  // by the axis that causes it
  [[nodiscard]] Seconds total() const {
    return time_of(tensor) + time_of(context) + time_of(expert);
  }
};
using CommunicationCost = CommunicationOf<Cost>;  // of one micro-batch

// What operators and calls add up to before anything hides behind anything. Linear: a chunk is the
// sum of its layers, embedding and head.
template <typename Amount>
struct WorkOf {
  Amount forward{}, backward_input{}, backward_weight{}, recompute{};
  // Communication that nothing hides, and what can hide behind compute.
  CommunicationOf<Amount> forward_exposed{}, backward_exposed{};
  CommunicationOf<Amount> forward_hidden{}, backward_hidden{};
  double forward_launches = 0, backward_launches = 0;  // kernels and calls that the host submits
};
using ChunkWork = WorkOf<Cost>;

template <typename Amount>
struct ChunkCostOf {
  Amount forward{};  // compute
  Amount backward_input{};
  Amount backward_weight{};
  Amount recompute{};  // forward work done again in backward
  CommunicationOf<Amount> forward_communication{};
  CommunicationOf<Amount> backward_communication{};  // with what recompute repeats
  Seconds forward_host, backward_host;               // what the host's launches add

  [[nodiscard]] Seconds forward_time() const {
    return time_of(forward) + forward_communication.total();
  }
  [[nodiscard]] Seconds backward_time() const {
    return time_of(recompute) + time_of(backward_input) + time_of(backward_weight) +
           backward_communication.total();
  }
};
using ChunkCost = ChunkCostOf<Cost>;

// One layer of a kind, alone; whole: recomputed from its input, otherwise as the layout's selective
// recompute has it.
ChunkWork layer_work(const Model& model, const Cluster& cluster, const Job& job,
                     const Layout& layout, LayerKind kind, bool recomputed_whole);
ChunkWork embedding_work(const Model& model, const Cluster& cluster, const Job& job,
                         const Layout& layout);
// Final norm, logits, loss, and the multi-token-prediction layers.
ChunkWork head_work(const Model& model, const Cluster& cluster, const Job& job,
                    const Layout& layout);

template <typename Amount>
void add(CommunicationOf<Amount>& to, const CommunicationOf<Amount>& from, double count) {
  to.tensor = to.tensor + times(from.tensor, count);
  to.context = to.context + times(from.context, count);
  to.expert = to.expert + times(from.expert, count);
}

// `count` times `from`.
template <typename Amount>
void add(WorkOf<Amount>& to, const WorkOf<Amount>& from, double count) {
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

// Each axis's hidden communication, in turn, against the compute that is left to hide behind.
template <typename Amount>
CommunicationOf<Amount> exposed(CommunicationOf<Amount> sum, const CommunicationOf<Amount>& hidden,
                                Seconds compute, double overlap_slowdown) {
  const auto hide = [&](Amount& to, Amount from) {
    const Seconds communication = time_of(from);
    if (communication == seconds(0)) return;
    set_time(from, exposed_time(communication, compute, overlap_slowdown));
    compute -= std::min(compute, communication);
    to = to + from;
  };
  hide(sum.tensor, hidden.tensor);
  hide(sum.context, hidden.context);
  hide(sum.expert, hidden.expert);
  return sum;
}

// What a chunk's work costs: communication hides behind compute, and the host adds its launches.
template <typename Amount>
ChunkCostOf<Amount> chunk_cost(const WorkOf<Amount>& work, const Cluster& cluster) {
  const double slowdown = cluster.device.overlap_slowdown;
  ChunkCostOf<Amount> cost;
  cost.forward = work.forward;
  cost.backward_input = work.backward_input;
  cost.backward_weight = work.backward_weight;
  cost.recompute = work.recompute;
  cost.forward_communication =
      exposed(work.forward_exposed, work.forward_hidden, time_of(work.forward), slowdown);
  cost.backward_communication =
      exposed(work.backward_exposed, work.backward_hidden,
              time_of(work.backward_input) + time_of(work.backward_weight), slowdown);
  const Seconds launch = std::max(cluster.device.host_launch, cluster.framework.host_launch);
  cost.forward_host = host_time(launch * work.forward_launches, cost.forward_time());
  cost.backward_host = host_time(launch * work.backward_launches, cost.backward_time());
  return cost;
}

// The same without spreads.
CommunicationOf<Seconds> bare(const CommunicationCost& cost);
WorkOf<Seconds> bare(const ChunkWork& work);

}  // namespace meshwright
