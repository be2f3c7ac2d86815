// SPDX-License-Identifier: Apache-2.0
#include "sim/step/chunk.h"

#include "sim/base/error.h"
#include "sim/memory/memory.h"
#include "sim/volume/transfer.h"

namespace meshwright {
namespace {

// Without tensor cores 16-bit products run as fast as those of fp32.
Precision kernel_precision(const Operator& op, Precision precision, const KernelFacts& kernels) {
  const bool batched = op.kind == OperatorKind::gemm && !op.has_weight;
  if (!batched || !kernels.aligned_batched_products || rows_are_aligned(op)) return precision;
  return bytes_per_element(precision) == 2.0 ? Precision::fp32 : precision;
}

// Whether queries of one context rank meet the keys of others one after the other.
bool rings_attention(const Layout& layout) {
  return layout.context_parallel_size > 1 && layout.cp_comm_type != ContextParallelAlgorithm::a2a;
}

// What the framework and long steps make of a kernel's time.
double time_factor(const Operator& op, const Layout& layout, const Cluster& cluster) {
  const Framework& framework = cluster.framework;
  if (op.kind == OperatorKind::memory_bound) return framework.kernel_time_factor;
  const bool ring = op.kind == OperatorKind::attention && rings_attention(layout);
  const double factor = ring ? framework.kernels.ring_attention_time_factor : 1.0;
  return factor * framework.gemm_time_factor / cluster.device.sustained_clock_fraction;
}

void add_operator(UnitCost& cost, const Operator& op, bool recomputed, Precision job_precision,
                  const Layout& layout, const Cluster& cluster, double times) {
  const Precision precision = kernel_precision(op, job_precision, cluster.framework.kernels);
  const double factor = time_factor(op, layout, cluster);
  const auto scaled = [times, factor](Cost cost) {
    cost.time *= times * factor;
    return cost;
  };
  const int version = cluster.framework.kernels.flash_attention_version;
  const Cost forward = scaled(forward_cost(op, precision, cluster.device, version));
  const BackwardCost backward = backward_cost(op, precision, cluster.device, version);
  cost.forward = cost.forward + forward;
  cost.backward_input = cost.backward_input + scaled(backward.input);
  if (op.has_weight) cost.backward_weight = cost.backward_weight + scaled(backward.weight);
  // The norm before an fp8 linear writes fp8 itself: nothing is launched for its input.
  if (forward.time > seconds(0)) cost.forward_launches += times;
  cost.backward_launches += times * (op.kind == OperatorKind::gemm ? 2.0 : 1.0);
  if (op.has_weight && cluster.framework.kernels.adds_gradients) cost.backward_launches += times;
  if (recomputed) {
    cost.recompute = cost.recompute + forward;
    cost.backward_launches += times;
  }
}

// Where the framework's kernels of a layer were counted, they are what the host launches for it.
void count_launches(UnitCost& cost, const KernelFacts& facts, bool recomputed_whole) {
  if (facts.forward_launches > 0) cost.forward_launches = facts.forward_launches;
  if (facts.backward_launches <= 0) return;
  cost.backward_launches =
      facts.backward_launches + (recomputed_whole ? cost.forward_launches : 0.0);
}

void add_operators(UnitCost& cost, const std::vector<Operator>& ops, double times, bool whole,
                   const Job& job, const Layout& layout, const Cluster& cluster) {
  for (const Operator& op : ops) {
    add_operator(cost, op, is_recomputed(op, layout, whole), job.precision, layout, cluster, times);
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

void add_communication(UnitCost& cost, const Model& model, const Cluster& cluster, const Job& job,
                       const Layout& layout, const Chunk& chunk) {
  for (const Transfer& transfer : chunk_transfers(model, job, layout, chunk, chunk.num_layers)) {
    const bool forward = transfer.phase == Phase::forward;
    CommunicationCost& exposed = forward ? cost.forward_exposed : cost.backward_exposed;
    CommunicationCost& hidden = forward ? cost.forward_hidden : cost.backward_hidden;
    Cost* axis = axis_of(transfer.overlappable ? hidden : exposed, transfer.group);
    if (axis == nullptr) continue;
    *axis = *axis + transfer_cost(transfer, layout, cluster);
    (forward ? cost.forward_launches : cost.backward_launches) += transfer.times_per_step;
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

// Each parameter's gradient is read, and the sum before it read and written.
void add_gradient_sums(UnitCost& cost, const Model& model, const Cluster& cluster, const Job& job,
                       const Layout& layout, const Chunk& chunk) {
  if (!cluster.framework.kernels.adds_gradients) return;
  Stage alone;
  alone.chunks = {chunk};
  const StageParameters parameters = stage_parameters(model, job, layout, alone);
  const double touched =
      weight_bytes(job.precision) + 2.0 * bytes_per_element(job.gradient_precision);
  const Bytes traffic = bytes((parameters.dense + parameters.expert) * touched);
  cost.backward_weight =
      cost.backward_weight + times(kernel_cost(kernel::kAdd, traffic, cluster.device),
                                   cluster.framework.kernel_time_factor);
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

UnitCost layer_cost(const Model& model, const Cluster& cluster, const Job& job,
                    const Layout& layout, LayerKind kind, bool recomputed_whole) {
  const Layout alone = layout_of_layer(layout, recomputed_whole);
  UnitCost cost;
  add_operators(cost, layer_operators(model, kind, job, alone), 1, recomputed_whole, job, alone,
                cluster);
  count_launches(cost, cluster.framework.kernels, recomputed_whole);
  Chunk chunk;
  chunk.first_layer = first_layer_of(model, kind);
  chunk.num_layers = 1;
  add_communication(cost, model, cluster, job, alone, chunk);
  add_gradient_sums(cost, model, cluster, job, alone, chunk);
  return cost;
}

UnitCost embedding_cost(const Model& model, const Cluster& cluster, const Job& job,
                        const Layout& layout) {
  const Layout alone = layout_of_layer(layout, false);
  UnitCost cost;
  add_operators(cost, embedding_operators(model, job, alone), 1, false, job, alone, cluster);
  Chunk chunk;
  chunk.embedding = true;
  add_communication(cost, model, cluster, job, alone, chunk);
  add_gradient_sums(cost, model, cluster, job, alone, chunk);
  return cost;
}

UnitCost head_cost(const Model& model, const Cluster& cluster, const Job& job,
                   const Layout& layout) {
  const bool recomputed = mtp_is_recomputed(layout);
  const Layout alone = layout_of_layer(layout, recomputed);
  UnitCost cost;
  const int mtp = model.mtp_num_layers;
  add_operators(cost, head_operators(model, job, alone), 1 + mtp, false, job, alone, cluster);
  if (mtp > 0) {
    const LayerKind last = layer_kind(model, model.num_layers - 1);
    add_operators(cost, layer_operators(model, last, job, alone), mtp, recomputed, job, alone,
                  cluster);
    // Each looks the next tokens up again.
    add_operators(cost, embedding_operators(model, job, alone), mtp, false, job, alone, cluster);
    add_operators(cost, mtp_operators(model, job, alone), mtp, false, job, alone, cluster);
  }
  Chunk chunk;
  chunk.head = true;
  add_communication(cost, model, cluster, job, alone, chunk);
  add_gradient_sums(cost, model, cluster, job, alone, chunk);
  return cost;
}

void add(UnitCost& to, const UnitCost& from, double count) {
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

ChunkCost chunk_cost(const UnitCost& sum, const Cluster& cluster) {
  const double slowdown = cluster.device.overlap_slowdown;
  ChunkCost cost;
  cost.forward = sum.forward;
  cost.backward_input = sum.backward_input;
  cost.backward_weight = sum.backward_weight;
  cost.recompute = sum.recompute;
  cost.forward_communication =
      exposed(sum.forward_exposed, sum.forward_hidden, sum.forward.time, slowdown);
  cost.backward_communication =
      exposed(sum.backward_exposed, sum.backward_hidden,
              sum.backward_input.time + sum.backward_weight.time, slowdown);
  const Seconds launch = std::max(cluster.device.host_launch, cluster.framework.host_launch);
  const auto host = [&](double launches, Seconds device) {
    const bool ahead = cluster.framework.kernels.host_runs_ahead;
    return ahead ? host_time(launch * launches, device) : launch * launches;
  };
  cost.forward_host = host(sum.forward_launches, cost.forward_time());
  cost.backward_host = host(sum.backward_launches, cost.backward_time());
  return cost;
}

}  // namespace meshwright
