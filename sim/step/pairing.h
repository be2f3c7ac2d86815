// SPDX-License-Identifier: Apache-2.0
// Which operators a transfer of a layer runs beside, and what of it sticks out. A transfer hides
// behind the product next to it, not behind all that its stage computes.
//
// Megatron-LM core/tensor_parallel/layers.py, TransformerEngine's userbuffers and their defaults:
//   input all-gather                      | forward of the column-parallel linear   | ring
//   output reduce-scatter                 | forward of the row-parallel linear      | drain
//   output gradient all-gather            | its input gradient                      | ring
//   input all-gather once more            | input gradient of the column-parallel   | beside
//   input gradient reduce-scatter, -reduce | its weight gradient                     | beside
//   keys and values around a context ring | the core attention, forward or backward | ring
// Megatron-LM models/common/model_chunk_schedule_plan.py, overlap_moe_expert_parallel_comm, forward
// of one micro-batch and backward of another; DualPipe's pairs:
//   gradient of combine                   | forward of attention and router         | beside
//   dispatch                              | backward of the experts                 | beside
//   gradient of dispatch                  | forward of the experts                  | beside
//   combine                               | backward of attention and router        | beside
// With delay_wgrad_compute the experts' weight gradients go from the second to the third. The
// shared expert (moe_shared_expert_overlap): fc1 beside dispatch, fc2 beside combine.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/volume/volume.h"

namespace meshwright {

enum class LinearPass { forward, input_gradient, weight_gradient, backward };

// Order of the pieces of a GEMM and of its transfer.
enum class Interleaving {
  beside,  // two whole things at once
  ring,    // n pieces; the first is at hand, the others come while the ones before are computed
  drain,   // n pieces; each is sent while the next is computed, the last when all is done
};

// TransformerEngine's pipelined reduce-scatter cuts the product into so many.
inline constexpr int kDrainPieces = 4;

// Operators of the same unit that run during the transfer.
enum class Partner {
  named,
  core_attention,
  attention,  // all outside the experts, of another micro-batch
  experts,    // those of experts, of another micro-batch
};

struct Pairing {
  std::array<std::string_view, 2> operators;
  LinearPass pass = LinearPass::forward;
  Interleaving interleaving = Interleaving::beside;
  int pieces = 1;
  Partner partner = Partner::named;
  bool operator==(const Pairing&) const = default;
};

// For a transfer that the layout overlaps.
Pairing pairing_of(const Transfer& transfer, const Layout& layout);

// Time that overlapped communication adds to the compute it hides behind:
// max(0, communication - compute) + slowdown * min(communication, compute).
inline Seconds exposed_time(Seconds communication, Seconds compute, double overlap_slowdown) {
  const Seconds beside = std::min(communication, compute);
  return communication - beside + overlap_slowdown * beside;
}
// Ring: all of the communication beside (n - 1)/n of the compute. Drain: 1/n of it beside nothing,
// the rest beside (n - 1)/n of the compute.
Seconds exposed_time(const Pairing& pairing, Seconds communication, Seconds compute,
                     double overlap_slowdown);

}  // namespace meshwright
