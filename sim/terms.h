// SPDX-License-Identifier: Apache-2.0
// The parts of a step's time; they add up to it.
#pragma once

#include <array>

#include "sim/hardware/device.h"

namespace meshwright {

enum class TermKind {
  forward_compute,
  backward_compute,
  recompute,
  tensor_parallel_communication,
  context_parallel_communication,
  expert_parallel_communication,
  pipeline_communication,
  pipeline_bubble,
  data_parallel_communication,  // what is not hidden
  optimizer,
  host,  // the host could not launch fast enough
  offload,
};
inline constexpr int kNumTerms = static_cast<int>(TermKind::offload) + 1;
// The terms before the data-parallel communication.
inline constexpr int kNumPipelineTerms = static_cast<int>(TermKind::pipeline_bubble) + 1;

struct Term {
  TermKind kind = TermKind::forward_compute;
  Cost cost;
};
using Terms = std::array<Term, kNumTerms>;

}  // namespace meshwright
