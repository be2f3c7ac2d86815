// SPDX-License-Identifier: Apache-2.0
// Time of a stage's gradient, parameter and other once-a-step communication, and what of it the
// step waits for.
#pragma once

#include <array>

#include "sim/step/stage.h"

namespace meshwright {

inline constexpr std::size_t kLinears = 4;

// Once-a-step communication of a stage (gradients, parameters, tied embedding, norms), and what
// ZeRO-3 adds to each micro-batch.
struct DataCost {
  Cost reduce;  // gradients
  Cost gather;  // parameters before the first forward
  // Seconds per step: ZeRO-3's gathers, and FSDP's gathers and reductions. They share one
  // communicator and run one after the other (pytorch issues 177015, 186335).
  Cost forward_gather, backward_gather;
  Cost recompute_gather;  // more of them where layers are run again
  // Seconds per step that FSDP always exposes: its first gather and last reduction of each
  // micro-batch, and the copies into and out of their buffers.
  Cost alone;
  // Once a step, with nothing beside it: the last bucket of gradients and the first of weights, and
  // what comes after the reduction (tied embedding, gradients of parameters that all tensor ranks
  // hold, norm of the gradients, loss).
  Cost after;
};

DataCost data_cost(const StageVolume& volume, const Job& job, const Layout& layout,
                   const Cluster& cluster);
// Megatron-LM fills buckets in the order in which backward gives gradients, never cuts a weight,
// and reduces one when it is full (core/distributed/param_and_grad_buffer.py). The last one holds
// the embedding, if that is larger than a bucket: its share of a first stage's parameters. Later
// stages have one bucket, and are ready earlier by as many backward passes.
double last_bucket_share(double parameters, double embedding, double bucket);
double bucket_parameters(const DataParallelFacts& facts, int data_ranks);
// Its reduction, and the gather of its weights, has no compute beside it.
void wait_for_last_bucket(DataCost& cost, double share);
// Bytes that the copies around one of FSDP's collectives read and write on the compute stream.
Bytes fsdp_copies(const Transfer& transfer, const Job& job, const FsdpCopies& copies);
// Bytes that cores touch for a gradient that ZeRO-2 or ZeRO-3 reduces after each micro-batch. It is
// set to zero before: its payload once. Each of `group_size` ranks adds its share to the sum so
// far: two reads and a write of payload / group_size.
Bytes sharded_sums(const Transfer& transfer);

// Whether the communication of each kind hides behind compute, and how much it slows it.
struct DataOverlap {
  bool reduce = false, gather = false, forward_gather = false, backward_gather = false;
  double slowdown = 0;  // relative slowdown of overlapped compute
  // Shares of a layer's weights and GEMMs in each unit that ZeRO-3 gathers and computes. Empty: all
  // units are alike.
  std::array<double, kLinears> linears{};
};
DataOverlap data_overlap(const Model& model, const Layout& layout, const Cluster& cluster);

// Query, key and value; projection; the MLP's two, of a layer that they make up.
std::array<double, kLinears> linear_shares(const Model& model);
// While one linear runs the next one's weights come: the sum of
// max(share * compute, share of the next * gather) over a layer's linears.
inline Seconds prefetched_time(const std::array<double, kLinears>& shares, Seconds gather,
                               Seconds compute) {
  Seconds sum;
  for (std::size_t i = 0; i < kLinears; ++i) {
    sum += std::max(compute * shares[i], gather * shares[(i + 1) % kLinears]);
  }
  return sum;
}

// Exposed part of a stage's data-parallel communication.
struct ExposedData {
  Seconds reduce, gather, forward_gather, backward_gather, alone, after;
  [[nodiscard]] Seconds total() const {
    return reduce + gather + forward_gather + backward_gather + alone + after;
  }
};

// Gradients are reduced while the last micro-batch's backward runs; parameters are gathered while
// the first one's forward does. ZeRO-3 prefetches every layer's. `forward` and `backward` are the
// stage's, of one micro-batch; recomputed: layers are run again whole. Units alike: sum of
// max(compute of a unit, gather of the next) over them is max(compute, gathers).
inline ExposedData exposed_data(const DataCost& cost, const DataOverlap& overlap, Seconds forward,
                                Seconds backward, double micro_batches, bool recomputed) {
  const auto against = [&overlap](const Cost& communication, bool overlaps, Seconds compute) {
    return overlaps ? exposed_time(communication.time, compute, overlap.slowdown)
                    : communication.time;
  };
  const auto prefetched = [&](const Cost& communication, bool overlaps, Seconds compute) {
    if (!overlaps || overlap.linears[0] == 0.0) return against(communication, overlaps, compute);
    const Seconds both = prefetched_time(overlap.linears, communication.time, compute);
    const Seconds beside = communication.time + compute - both;
    return both - compute + overlap.slowdown * beside;
  };
  Cost behind = cost.backward_gather;
  if (recomputed) behind.time += cost.recompute_gather.time;
  return {against(cost.reduce, overlap.reduce, backward),
          against(cost.gather, overlap.gather, forward),
          prefetched(cost.forward_gather, overlap.forward_gather, forward * micro_batches),
          prefetched(behind, overlap.backward_gather, backward * micro_batches),
          cost.alone.time,
          cost.after.time};
}
// The same with what stands behind it.
Cost exposed_cost(const DataCost& cost, const ExposedData& exposed);

}  // namespace meshwright
