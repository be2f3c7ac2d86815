// SPDX-License-Identifier: Apache-2.0
#include "sim/step/pairing.h"

#include <algorithm>

#include "sim/block/transfer_names.h"

namespace meshwright {
namespace {

using transfer_names::BlockNames;
using Operators = std::array<std::string_view, 2>;

// A column-parallel linear's operators and the row-parallel one's after it.
struct Block {
  const BlockNames& names;
  Operators column, row;
};
constexpr std::array kBlocks{
    Block{transfer_names::kAttention,
          {"attention.qkv", "recurrent.input"},
          {"attention.projection", "recurrent.projection"}},
    Block{transfer_names::kMlp, {"mlp.fc1"}, {"mlp.fc2"}},
    Block{transfer_names::kParallel,
          {"attention.qkv", "mlp.fc1"},
          {"attention.projection", "mlp.fc2"}},
    Block{transfer_names::kSharedExpert, {"shared_expert.fc1"}, {"shared_expert.fc2"}},
    Block{transfer_names::kLatentQuery, {"attention.q_up", "attention.q"}, {}},
    Block{transfer_names::kLatentKeyValue, {"attention.kv_up"}, {}},
    Block{transfer_names::kLogits, {"logits"}, {}},
    Block{transfer_names::kMtpProjection, {"mtp.projection"}, {}},
};

Pairing pairing_of_tokens(const Transfer& transfer, const Layout& layout) {
  using transfer_names::kExperts;
  const bool dispatch = transfer.name == kExperts.dispatch;
  const bool to_experts = dispatch || transfer.name == kExperts.dispatch_gradient;
  const bool gradient =
      transfer.name == kExperts.dispatch_gradient || transfer.name == kExperts.combine_gradient;
  if (!layout.overlap_moe_expert_parallel_comm) {
    return {{to_experts ? "shared_expert.fc1" : "shared_expert.fc2"},
            gradient ? LinearPass::backward : LinearPass::forward};
  }
  LinearPass pass = gradient ? LinearPass::forward : LinearPass::backward;
  if (layout.delay_wgrad_compute && dispatch) pass = LinearPass::input_gradient;
  Pairing pairing;
  pairing.pass = pass;
  pairing.partner = to_experts ? Partner::experts : Partner::attention;
  return pairing;
}

Seconds share(Seconds time, int part, int of) { return time * (static_cast<double>(part) / of); }

}  // namespace

Pairing pairing_of(const Transfer& transfer, const Layout& layout) {
  if (transfer.group == Group::expert) return pairing_of_tokens(transfer, layout);
  const int n = transfer.group_size;
  const bool forward = transfer.phase == Phase::forward || transfer.phase == Phase::recompute;
  if (transfer.group == Group::context) {
    return {{},
            forward ? LinearPass::forward : LinearPass::input_gradient,
            Interleaving::ring,
            n,
            Partner::core_attention};
  }
  for (const Block& block : kBlocks) {
    const BlockNames& names = block.names;
    const std::string_view name = transfer.name;
    if (name == names.input_all_gather) {
      return {block.column, LinearPass::forward, Interleaving::ring, n};
    }
    if (name == names.output_reduce_scatter) {
      return {block.row, LinearPass::forward, Interleaving::drain, kDrainPieces};
    }
    if (name == names.output_gradient_all_gather) {
      return {block.row, LinearPass::input_gradient, Interleaving::ring, n};
    }
    if (name == names.input_all_gather_again) return {block.column, LinearPass::input_gradient};
    if (name == names.input_gradient_reduce_scatter || name == names.input_gradient_all_reduce) {
      return {block.column, LinearPass::weight_gradient};
    }
  }
  return {{"none"}};
}

Seconds exposed_time(const Pairing& pairing, Seconds communication, Seconds compute,
                     double overlap_slowdown) {
  const int n = pairing.pieces;
  switch (pairing.interleaving) {
    case Interleaving::beside:
      break;
    case Interleaving::ring:
      return exposed_time(communication, share(compute, n - 1, n), overlap_slowdown);
    case Interleaving::drain:
      return share(communication, 1, n) + exposed_time(share(communication, n - 1, n),
                                                       share(compute, n - 1, n), overlap_slowdown);
  }
  return exposed_time(communication, compute, overlap_slowdown);
}

}  // namespace meshwright
