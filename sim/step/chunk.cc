// SPDX-License-Identifier: Apache-2.0
#include "sim/step/chunk.h"

#include <algorithm>

#include "sim/base/error.h"
#include "sim/base/narrow_format.h"
#include "sim/kernel_time/expert_products.h"
#include "sim/kernel_time/slowest.h"
#include "sim/memory/stage_parameters.h"
#include "sim/step/launches.h"
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

// What the framework, long steps and waiting for the slowest device make of a kernel's time.
double time_factor(const Operator& op, const Numerics& numerics, const Layout& layout,
                   const Cluster& cluster) {
  const double slowest = slowest_of(cluster.num_gpus(), only_device(cluster));
  if (op.kind == OperatorKind::memory_bound) {
    const bool of_expert_rows = op.of_expert && op.kernel != kernel::kTranspose;
    return cluster.kernel_time_factor() * slowest *
           (of_expert_rows ? cluster.framework.experts.kernel_time_factor : 1.0);
  }
  const bool ring = op.kind == OperatorKind::attention && rings_attention(layout);
  double factor = ring ? cluster.framework.kernels.ring_attention_time_factor : 1.0;
  if (op.of_expert) factor *= cluster.framework.experts.gemm_time_factor;
  if (is_narrow(compute_precision(op, numerics.precision))) {
    factor *= narrow_format(numerics).gemm_time_factor *
              cluster.framework.kernels.narrow_gemm_time_factor;
  }
  return factor * slowest * cluster.gemm_time_factor() /
         only_device(cluster).sustained_clock_fraction;
}

// What a unit's costs are read from; the layout is layout_of_layer()'s.
struct UnitScope {
  const Scenario& scenario;
  Layout layout;
  TokenShape tokens = micro_batch_tokens(scenario.job, layout);
};

struct OperatorCost {
  Cost forward, input, weight;
};
double fullest_rank(const Operator& op, const UnitScope& unit) {
  return op.of_expert ? load_imbalance(*unit.scenario.model.moe, unit.scenario.job) : 1.0;
}

// Experts' products are one kernel where a graph of the whole step has them fused.
bool runs_one_each(const Operator& op, const UnitScope& unit) {
  return op.of_expert && unit.scenario.cluster.framework.experts.launches_each &&
         !captures_experts(unit.layout);
}

OperatorCost product_of_experts(const Operator& op, Precision precision, const UnitScope& unit) {
  const Device& device = only_device(unit.scenario.cluster);
  const auto rounds = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const GemmShape all{op.batch, m, n, k};
    return runs_one_each(op, unit) ? rounds_on_streams(all) : ProductRounds{all};
  };
  const ProductRounds forward = rounds(op.m, op.n, op.k), input = rounds(op.m, op.k, op.n),
                      weight = rounds(op.k, op.n, op.m);
  const double buffer = bytes_per_element(unit.scenario.job.gradient_precision);
  return {times(gemm_cost(forward.shape, precision, device), forward.count),
          times(gemm_cost(input.shape, precision, device), input.count),
          times(gradient_cost(weight.shape, precision, buffer, device), weight.count)};
}

// On the average device, alone.
OperatorCost kernel_costs(const Operator& op, const UnitScope& unit) {
  const Device& device = only_device(unit.scenario.cluster);
  const Precision precision =
      kernel_precision(op, unit.scenario.job.precision, unit.scenario.cluster.framework.kernels);
  if (op.of_expert && op.kind == OperatorKind::gemm) {
    return product_of_experts(op, compute_precision(op, precision), unit);
  }
  const int version = unit.scenario.cluster.framework.kernels.flash_attention_version;
  const BackwardCost backward = backward_cost(op, precision, device, version);
  OperatorCost cost{forward_cost(op, precision, device, version), backward.input,
                    op.has_weight ? backward.weight : Cost{}};
  if (!runs_one_each(op, unit) || op.launches <= 1) return cost;
  // One kernel after the other.
  const Seconds starts = device.kernel_launch * static_cast<double>(op.launches - 1);
  for (Cost* pass : {&cost.forward, &cost.input}) {
    if (pass->time > seconds(0)) pass->time += starts;
  }
  return cost;
}

OperatorCost operator_cost(const Operator& op, const UnitScope& unit) {
  const double factor = time_factor(op, unit.scenario.job, unit.layout, unit.scenario.cluster) *
                        fullest_rank(op, unit);
  const OperatorCost cost = kernel_costs(op, unit);
  return {times(cost.forward, factor), times(cost.input, factor), times(cost.weight, factor)};
}

void add_operator(UnitCost& sum, const Operator& op, double recomputed, const UnitScope& unit,
                  double count) {
  const OperatorCost cost = operator_cost(op, unit);
  const Cost forward = times(cost.forward, count);
  sum.forward = sum.forward + forward;
  sum.backward_input = sum.backward_input + times(cost.input, count);
  sum.backward_weight = sum.backward_weight + times(cost.weight, count);
  // The norm before an fp8 linear writes fp8 itself: nothing is launched for its input.
  if (forward.time > seconds(0)) sum.forward_launches += count;
  sum.backward_launches += count * (op.kind == OperatorKind::gemm ? 2.0 : 1.0);
  const bool sums = op.has_weight && unit.scenario.cluster.framework.kernels.adds_gradients;
  if (sums) sum.backward_launches += count;
  if (recomputed > 0.0) {
    sum.recompute = sum.recompute + times(forward, recomputed);
    sum.backward_launches += count;
  }
}

// Where the framework's kernels of a layer were counted, they are what the host launches for it.
void count_launches(UnitCost& cost, const KernelFacts& facts, bool recomputed_whole) {
  if (facts.forward_launches > 0) cost.forward_launches = facts.forward_launches;
  if (facts.backward_launches <= 0) return;
  cost.backward_launches =
      facts.backward_launches + (recomputed_whole ? cost.forward_launches : 0.0);
}

// Where kernels of layers with experts were counted, they are what the host launches.
void count_expert_launches(UnitCost& cost, const std::vector<Operator>& ops, bool whole,
                           const UnitScope& unit) {
  const ExpertFacts& facts = unit.scenario.cluster.framework.experts;
  if (facts.launches_per_operator <= 0) return;
  const LayerLaunches count =
      expert_layer_launches(ops, facts, *unit.scenario.model.moe, unit.layout, whole);
  cost.forward_launches = count.forward;
  cost.backward_launches = count.backward;
  cost.forward_waited = count.forward_waited;
  cost.backward_waited = count.backward_waited;
}

void add_operators(UnitCost& sum, const std::vector<Operator>& ops, double count, bool whole,
                   const UnitScope& unit) {
  for (const Operator& op : ops) {
    add_operator(sum, op, recomputed_share(op, unit.layout, whole), unit, count);
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

// Transfers that run beside the same operators in the same pass, all their calls together.
struct Paired {
  Pairing pairing;
  Phase phase = Phase::forward;
  double calls = 0;
  Cost* axis = nullptr;
  Cost communication;
};

// What an operator takes in a pass; a product cut into pieces, as so many smaller ones.
Seconds pass_time(Operator op, LinearPass pass, int pieces, const UnitScope& unit) {
  if (pieces > 1) op.m = std::max<std::int64_t>(1, op.m / pieces);
  const double factor = time_factor(op, unit.scenario.job, unit.layout, unit.scenario.cluster) *
                        fullest_rank(op, unit) * pieces;
  const OperatorCost cost = kernel_costs(op, unit);
  if (pass == LinearPass::forward) return cost.forward.time * factor;
  if (pass == LinearPass::input_gradient) return cost.input.time * factor;
  if (pass == LinearPass::weight_gradient) return cost.weight.time * factor;
  return (cost.input.time + cost.weight.time) * factor;
}

// With delayed weight gradients the experts' go beside the gradient of dispatch as well.
Seconds partner_time(const Operator& op, const Pairing& pairing, const UnitScope& unit) {
  const Seconds time = pass_time(op, pairing.pass, 1, unit);
  const bool more = unit.layout.delay_wgrad_compute && pairing.partner == Partner::experts &&
                    pairing.pass == LinearPass::forward;
  return more ? time + pass_time(op, LinearPass::weight_gradient, 1, unit) : time;
}

bool runs_beside(const Pairing& pairing, const Operator& op) {
  switch (pairing.partner) {
    case Partner::core_attention:
      return op.module == Module::core_attention;
    case Partner::attention:
      return !op.of_expert;
    case Partner::experts:
      return op.of_expert;
    case Partner::named:
      break;
  }
  return op.name == pairing.operators[0] || op.name == pairing.operators[1];
}

// Compute is slowed while tokens travel: by the multiprocessors that a library is known to take of
// S, s / (S - s); else as beside any collective.
double overlap_slowdown(const Pairing& pairing, const UnitScope& unit) {
  const Device& device = only_device(unit.scenario.cluster);
  const bool tokens = pairing.partner == Partner::attention || pairing.partner == Partner::experts;
  if (!tokens || unit.layout.moe_token_dispatcher_type != MoeTokenDispatcherType::flex) {
    return device.overlap_slowdown;
  }
  const auto backend = static_cast<std::size_t>(unit.layout.moe_flex_dispatcher_backend);
  const double taken = unit.scenario.cluster.framework.experts.dispatch_multiprocessors[backend];
  const double left = device.num_multiprocessors - taken;
  return taken > 0 && left > 0 ? taken / left : device.overlap_slowdown;
}

// What sticks out of the operators, with what cutting products into pieces adds to them.
Cost sticking_out(const Paired& paired, const std::vector<Operator>& ops, const UnitScope& unit) {
  const Pairing& pairing = paired.pairing;
  const bool cuts = pairing.pieces > 1 && pairing.partner == Partner::named;
  Seconds whole, cut;
  for (const Operator& op : ops) {
    if (!runs_beside(pairing, op)) continue;
    whole += partner_time(op, pairing, unit) * paired.calls;
    if (cuts) cut += pass_time(op, pairing.pass, pairing.pieces, unit) * paired.calls;
  }
  const Seconds compute = std::max(whole, cut);
  const Seconds exposed =
      exposed_time(pairing, paired.communication.time, compute, overlap_slowdown(pairing, unit));
  return with_time(paired.communication, exposed + (compute - whole));
}

Paired& paired_with(std::vector<Paired>& all, const Transfer& transfer, const Layout& layout,
                    Cost* axis) {
  const Pairing pairing = pairing_of(transfer, layout);
  for (Paired& known : all) {
    if (known.pairing == pairing && known.phase == transfer.phase) return known;
  }
  // A ring passes n - 1 pieces for each of its attentions.
  const bool around = transfer.group == Group::context;
  const double calls = transfer.times_per_step / (around ? transfer.group_size - 1 : 1);
  return all.emplace_back(Paired{pairing, transfer.phase, calls, axis, {}});
}

// `ops` are those that the chunk's transfers can run beside.
void add_communication(UnitCost& sum, const std::vector<Operator>& ops, const Chunk& chunk,
                       const UnitScope& unit) {
  std::vector<Paired> beside;
  for (const Transfer& transfer :
       chunk_transfers(unit.scenario.model, unit.scenario.job, unit.layout, chunk,
                       fully_recomputed_layers(unit.layout, chunk.num_layers))) {
    const bool forward = transfer.phase == Phase::forward;
    Cost* axis =
        axis_of(forward ? sum.forward_communication : sum.backward_communication, transfer.group);
    if (axis == nullptr) continue;
    Cost cost = transfer_cost(transfer, unit.layout, unit.scenario.cluster);
    // Gathered, all tokens go to all ranks.
    const bool to_fullest =
        transfer.group == Group::expert && transfer.collective == Collective::all_to_all;
    if (to_fullest) cost.time *= load_imbalance(*unit.scenario.model.moe, unit.scenario.job);
    Cost& to = transfer.overlappable
                   ? paired_with(beside, transfer, unit.layout, axis).communication
                   : *axis;
    to = to + cost;
    if (!captures_experts(unit.layout)) {
      (forward ? sum.forward_launches : sum.backward_launches) += transfer.times_per_step;
    }
    const Tier tier = place(transfer, unit.layout, unit.scenario.cluster).tier();
    (forward ? sum.forward_wires : sum.backward_wires).on(tier) += cost.time;
  }
  for (const Paired& paired : beside) {
    const Cost out = sticking_out(paired, ops, unit);
    *paired.axis = *paired.axis + out;
    const Partner partner = paired.pairing.partner;
    if (partner == Partner::attention || partner == Partner::experts) {
      sum.hidden_exchange += paired.communication.time - out.time;
    }
  }
}

// Ranks that exchange something in every layer wait for the slowest of them there. The first such
// axis pays for all: tensor, else context, else expert ranks, which are some of these and others.
void add_waiting(CommunicationCost& exchanges, Cost compute, const UnitScope& unit) {
  if (only_device(unit.scenario.cluster).time_jitter == 0.0) return;
  const Layout& layout = unit.layout;
  int ranks = 1;
  Cost* first = nullptr;
  const auto meet = [&](Cost& axis, int together) {
    if (axis.time == seconds(0)) return;
    ranks = std::max(ranks, together);
    if (first == nullptr) first = &axis;
  };
  const int tensor = layout.tensor_parallel_size;
  meet(exchanges.tensor, tensor);
  meet(exchanges.context, tensor * layout.context_parallel_size);
  meet(exchanges.expert, expert_tensor_size(layout) * layout.expert_parallel_size);
  if (first == nullptr) return;
  *first = *first + times(compute, wait_for_slowest(ranks, only_device(unit.scenario.cluster)));
}

void add_waiting(UnitCost& cost, const UnitScope& unit) {
  add_waiting(cost.forward_communication, cost.forward, unit);
  add_waiting(cost.backward_communication,
              cost.backward_input + cost.backward_weight + cost.recompute, unit);
}

void add(CommunicationCost& to, const CommunicationCost& from, double count) {
  to.tensor = to.tensor + times(from.tensor, count);
  to.context = to.context + times(from.context, count);
  to.expert = to.expert + times(from.expert, count);
}

// Each parameter's gradient is read, and the sum before it read and written.
void add_gradient_sums(UnitCost& sum, const Chunk& chunk, const UnitScope& unit) {
  if (!unit.scenario.cluster.framework.kernels.adds_gradients) return;
  Stage alone;
  alone.chunks = {chunk};
  const StageParameters parameters =
      stage_parameters(unit.scenario.model, unit.scenario.job, unit.layout, alone);
  const double touched = weight_bytes(unit.scenario.job.precision) +
                         2.0 * bytes_per_element(unit.scenario.job.gradient_precision);
  const Bytes traffic = bytes((parameters.dense + parameters.expert) * touched);
  sum.backward_weight = sum.backward_weight + times(kernel_cost(kernel::kAdd, traffic,
                                                                only_device(unit.scenario.cluster)),
                                                    unit.scenario.cluster.kernel_time_factor());
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

UnitCost layer_cost(const Scenario& scenario, const Layout& layout, LayerKind kind,
                    bool recomputed_whole) {
  const UnitScope unit{scenario, layout_of_layer(layout, recomputed_whole)};
  const std::vector<Operator> ops =
      layer_operators(scenario.model, kind, scenario.job, unit.tokens, unit.layout);
  UnitCost cost;
  add_operators(cost, ops, 1, recomputed_whole, unit);
  count_launches(cost, scenario.cluster.framework.kernels, recomputed_whole);
  if (kind.mixture_of_experts) count_expert_launches(cost, ops, recomputed_whole, unit);
  Chunk chunk;
  chunk.first_layer = first_layer_of(scenario.model, kind);
  chunk.num_layers = 1;
  add_communication(cost, ops, chunk, unit);
  add_gradient_sums(cost, chunk, unit);
  add_waiting(cost, unit);
  return cost;
}

UnitCost embedding_cost(const Scenario& scenario, const Layout& layout) {
  const UnitScope unit{scenario, layout_of_layer(layout, false)};
  const std::vector<Operator> ops =
      embedding_operators(scenario.model, scenario.job, unit.tokens, unit.layout);
  UnitCost cost;
  add_operators(cost, ops, 1, false, unit);
  Chunk chunk;
  chunk.embedding = true;
  add_communication(cost, ops, chunk, unit);
  add_gradient_sums(cost, chunk, unit);
  add_waiting(cost, unit);
  return cost;
}

UnitCost head_cost(const Scenario& scenario, const Layout& layout) {
  const UnitScope unit{scenario, layout_of_layer(layout, false)};
  const std::vector<Operator> ops =
      head_operators(scenario.model, scenario.job, unit.tokens, unit.layout);
  UnitCost cost;
  add_operators(cost, ops, 1 + scenario.model.mtp_num_layers, false, unit);
  Chunk chunk;
  chunk.head = true;
  add_communication(cost, ops, chunk, unit);
  add_gradient_sums(cost, chunk, unit);
  add_waiting(cost, unit);
  return cost;
}

UnitCost mtp_cost(const Scenario& scenario, const Layout& layout) {
  const bool recomputed = mtp_is_recomputed(layout);
  const UnitScope unit{scenario, layout_of_layer(layout, recomputed)};
  UnitCost cost;
  std::vector<Operator> all;
  const auto add_part = [&](const std::vector<Operator>& ops, bool again) {
    add_operators(cost, ops, scenario.model.mtp_num_layers, again, unit);
    all.insert(all.end(), ops.begin(), ops.end());
  };
  const LayerKind last = layer_kind(scenario.model, scenario.model.num_layers - 1);
  add_part(layer_operators(scenario.model, last, scenario.job, unit.tokens, unit.layout),
           recomputed);
  // Each looks the next tokens up again.
  add_part(embedding_operators(scenario.model, scenario.job, unit.tokens, unit.layout), false);
  add_part(mtp_operators(scenario.model, scenario.job, unit.tokens, unit.layout), recomputed);
  Chunk chunk;
  chunk.mtp = true;
  add_communication(cost, all, chunk, unit);
  add_gradient_sums(cost, chunk, unit);
  add_waiting(cost, unit);
  return cost;
}

void add(UnitCost& to, const UnitCost& from, double count) {
  to.forward = to.forward + times(from.forward, count);
  to.backward_input = to.backward_input + times(from.backward_input, count);
  to.backward_weight = to.backward_weight + times(from.backward_weight, count);
  to.recompute = to.recompute + times(from.recompute, count);
  add(to.forward_communication, from.forward_communication, count);
  add(to.backward_communication, from.backward_communication, count);
  to.forward_launches += from.forward_launches * count;
  to.backward_launches += from.backward_launches * count;
  to.forward_waited += from.forward_waited * count;
  to.backward_waited += from.backward_waited * count;
  to.hidden_exchange += from.hidden_exchange * count;
  to.forward_wires.add(from.forward_wires, count);
  to.backward_wires.add(from.backward_wires, count);
}

ChunkCost chunk_cost(const UnitCost& sum, const Cluster& cluster) {
  ChunkCost cost;
  cost.forward = sum.forward;
  cost.backward_input = sum.backward_input;
  cost.backward_weight = sum.backward_weight;
  cost.recompute = sum.recompute;
  cost.forward_communication = sum.forward_communication;
  cost.backward_communication = sum.backward_communication;
  cost.forward_wires = sum.forward_wires;
  cost.backward_wires = sum.backward_wires;
  cost.hidden_exchange = sum.hidden_exchange;
  const Seconds launch = std::max(only_device(cluster).host_launch, cluster.framework.host_launch);
  // The host runs ahead of the device but for what it submits after a wait, when nothing is queued.
  const auto host = [&](double launches, double waited, Seconds device) {
    const bool ahead = cluster.framework.kernels.host_runs_ahead;
    const double early = launches - waited;
    return (ahead ? host_time(launch * early, device) : launch * early) + launch * waited;
  };
  cost.forward_host = host(sum.forward_launches, sum.forward_waited, cost.forward_time());
  cost.backward_host = host(sum.backward_launches, sum.backward_waited, cost.backward_time());
  return cost;
}

}  // namespace meshwright
