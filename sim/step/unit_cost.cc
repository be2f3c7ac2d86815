// SPDX-License-Identifier: Apache-2.0
#include "sim/step/unit_cost.h"

#include <algorithm>

#include "sim/base/error.h"
#include "sim/kernel_time/remainder.h"
#include "sim/layout/stages.h"
#include "sim/memory/model_state.h"
#include "sim/step/launches.h"
#include "sim/step/operator_cost.h"
#include "sim/step/unit_communication.h"

namespace meshwright {
namespace {

void add(CommunicationCost& to, const CommunicationCost& from, double count) {
  to.tensor = to.tensor + times(from.tensor, count);
  to.context = to.context + times(from.context, count);
  to.expert = to.expert + times(from.expert, count);
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
  sum.backward_launches += count * (op.kind == OperatorKind::gemm && !op.frozen ? 2.0 : 1.0);
  const bool sums = trains_weight(op) && unit.scenario.cluster.framework.kernels.adds_gradients;
  if (sums) sum.backward_launches += count;
  if (recomputed > 0.0) {
    sum.recompute = sum.recompute + times(forward, recomputed);
    sum.backward_launches += count;
  }
}

// Kernel launches that adapters add to a layer's forward pass: two GEMMs, a scale and a sum each.
// The backward pass has twice as many, and no weight gradients of the frozen linears.
double adapter_launches(const std::vector<Operator>& ops) {
  double launches = 0.0;
  for (const Operator& op : ops) {
    if (op.adapter) launches += op.kind == OperatorKind::gemm ? 1.0 : 2.0;
  }
  return launches;
}

// Where the framework's kernels of a layer were counted, they are what the host launches for it.
void count_launches(UnitCost& cost, const std::vector<Operator>& ops, const KernelFacts& facts,
                    bool recomputed_whole) {
  const double adapters = adapter_launches(ops);
  if (facts.forward_launches > 0) cost.forward_launches = facts.forward_launches + adapters;
  if (facts.backward_launches <= 0) return;
  const auto frozen = static_cast<double>(
      std::count_if(ops.begin(), ops.end(), [](const Operator& op) { return op.frozen; }));
  cost.backward_launches = facts.backward_launches + 2.0 * adapters - frozen +
                           (recomputed_whole ? cost.forward_launches : 0.0);
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

// Each parameter's gradient is read, and the sum before it read and written.
void add_gradient_sums(UnitCost& sum, const Chunk& chunk, const UnitScope& unit) {
  if (!unit.scenario.cluster.framework.kernels.adds_gradients) return;
  Stage alone;
  alone.chunks = {chunk};
  const StageParameters parameters =
      trained_parameters(unit.scenario.model, unit.scenario.job, unit.layout, alone);
  const double touched = weight_bytes(unit.scenario.job.precision) +
                         2.0 * bytes_per_element(unit.scenario.job.gradient_precision);
  const Bytes traffic = bytes((parameters.dense + parameters.expert) * touched);
  sum.backward_weight = sum.backward_weight + times(kernel_cost(kernel::kAdd, traffic,
                                                                only_device(unit.scenario.cluster)),
                                                    unit.scenario.cluster.kernel_time_factor());
}

// Passes as a calibration saw them whole.
void add_remainders(UnitCost& cost, const UnitScope& unit) {
  const Device& device = only_device(unit.scenario.cluster);
  if (device.step_remainders.empty()) return;
  const auto add = [&](Cost& operators, ComputePass pass) {
    operators = with_remainder(operators, device, pass, tokens(unit.tokens));
  };
  add(cost.forward, ComputePass::forward);
  add(cost.recompute, ComputePass::forward);
  add(cost.backward_input, ComputePass::backward);
  add(cost.backward_weight, ComputePass::backward);
}

int first_layer_of(const Model& model, LayerKind kind) {
  for (int i = 0; i < model.num_layers; ++i) {
    if (layer_kind(model, i) == kind) return i;
  }
  throw std::logic_error("internal error: a layer of a kind that the model does not have");
}

// Hosts that take so many times as long for a launch are as if they launched so many times as much.
void pace_launches(UnitCost& cost, const Cluster& cluster) {
  const HostPace& host = cluster.host;
  if (host.framework.empty() || host.framework != cluster.framework.name) return;
  for (double* launches : {&cost.forward_launches, &cost.backward_launches, &cost.forward_waited,
                           &cost.backward_waited}) {
    *launches *= host.expert_launch_time_factor;
  }
}

// Fields that the cost of a layer does not read are set to their defaults. ZeRO's traffic belongs
// to a stage.
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
                    bool recomputed_whole, KernelCosts* known) {
  const UnitScope unit{scenario, layout_of_layer(layout, recomputed_whole), known};
  const std::vector<Operator> ops =
      layer_operators(scenario.model, kind, scenario.job, unit.tokens, unit.layout);
  UnitCost cost;
  add_operators(cost, ops, 1, recomputed_whole, unit);
  count_launches(cost, ops, scenario.cluster.framework.kernels, recomputed_whole);
  if (kind.mixture_of_experts) count_expert_launches(cost, ops, recomputed_whole, unit);
  Chunk chunk;
  chunk.first_layer = first_layer_of(scenario.model, kind);
  chunk.num_layers = 1;
  add_communication(cost, ops, chunk, unit);
  add_gradient_sums(cost, chunk, unit);
  add_remainders(cost, unit);
  add_waiting(cost, unit);
  if (kind.mixture_of_experts) pace_launches(cost, scenario.cluster);
  return cost;
}

UnitCost embedding_cost(const Scenario& scenario, const Layout& layout, KernelCosts* known) {
  const UnitScope unit{scenario, layout_of_layer(layout, false), known};
  const std::vector<Operator> ops =
      embedding_operators(scenario.model, scenario.job, unit.tokens, unit.layout);
  UnitCost cost;
  add_operators(cost, ops, 1, false, unit);
  Chunk chunk;
  chunk.embedding = true;
  add_communication(cost, ops, chunk, unit);
  add_gradient_sums(cost, chunk, unit);
  add_remainders(cost, unit);
  add_waiting(cost, unit);
  return cost;
}

UnitCost head_cost(const Scenario& scenario, const Layout& layout, KernelCosts* known) {
  const UnitScope unit{scenario, layout_of_layer(layout, false), known};
  const std::vector<Operator> ops =
      head_operators(scenario.model, scenario.job, unit.tokens, unit.layout);
  UnitCost cost;
  add_operators(cost, ops, 1 + scenario.model.mtp_num_layers, false, unit);
  Chunk chunk;
  chunk.head = true;
  add_communication(cost, ops, chunk, unit);
  add_gradient_sums(cost, chunk, unit);
  add_remainders(cost, unit);
  add_waiting(cost, unit);
  return cost;
}

UnitCost mtp_cost(const Scenario& scenario, const Layout& layout, KernelCosts* known) {
  const bool recomputed = mtp_is_recomputed(layout);
  const UnitScope unit{scenario, layout_of_layer(layout, recomputed), known};
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
  add_remainders(cost, unit);
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

}  // namespace meshwright
