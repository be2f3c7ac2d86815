// SPDX-License-Identifier: Apache-2.0
#include "sim/step/unit_communication.h"

#include <algorithm>

#include "sim/kernel_time/slowest.h"
#include "sim/step/pairing.h"
#include "sim/volume/transfer.h"

namespace meshwright {
namespace {

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

// Exposed communication of the operators, with the cost of cutting GEMMs into pieces.
Cost exposed_cost(const Paired& paired, const std::vector<Operator>& ops, const UnitScope& unit) {
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

}  // namespace

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
    const Cost out = exposed_cost(paired, ops, unit);
    *paired.axis = *paired.axis + out;
    const Partner partner = paired.pairing.partner;
    if (partner == Partner::attention || partner == Partner::experts) {
      sum.hidden_exchange += paired.communication.time - out.time;
    }
  }
}

void add_waiting(UnitCost& cost, const UnitScope& unit) {
  add_waiting(cost.forward_communication, cost.forward, unit);
  add_waiting(cost.backward_communication,
              cost.backward_input + cost.backward_weight + cost.recompute, unit);
}

}  // namespace meshwright
