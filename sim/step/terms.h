// SPDX-License-Identifier: Apache-2.0
// The parts of a step's time; they add up to it.
#pragma once

#include <array>

#include "sim/base/enum_names.h"
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
  data_parallel_communication,  // the exposed part
  optimizer,
  host,  // the host could not launch fast enough
  offload,
};
inline constexpr std::array kTermNames{
    EnumName{TermKind::forward_compute, "forward_compute"},
    EnumName{TermKind::backward_compute, "backward_compute"},
    EnumName{TermKind::recompute, "recompute"},
    EnumName{TermKind::tensor_parallel_communication, "tensor_parallel_communication"},
    EnumName{TermKind::context_parallel_communication, "context_parallel_communication"},
    EnumName{TermKind::expert_parallel_communication, "expert_parallel_communication"},
    EnumName{TermKind::pipeline_communication, "pipeline_communication"},
    EnumName{TermKind::pipeline_bubble, "pipeline_bubble"},
    EnumName{TermKind::data_parallel_communication, "data_parallel_communication"},
    EnumName{TermKind::optimizer, "optimizer"},
    EnumName{TermKind::host, "host"},
    EnumName{TermKind::offload, "offload"}};
constexpr std::string_view name_of(TermKind v) { return name_in(kTermNames, v); }

inline constexpr int kNumTerms = static_cast<int>(TermKind::offload) + 1;
// The terms before the data-parallel communication.
inline constexpr int kNumPipelineTerms = static_cast<int>(TermKind::pipeline_bubble) + 1;

struct Term {
  TermKind kind = TermKind::forward_compute;
  Cost cost;
};
using Terms = std::array<Term, kNumTerms>;

}  // namespace meshwright
