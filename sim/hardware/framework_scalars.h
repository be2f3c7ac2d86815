// SPDX-License-Identifier: Apache-2.0
// The scalars of a framework that measured runs can teach: factors and times that sums of kernels
// do not hold. Each is said once, in its row here: file, command line, refits and leaving out of
// runs follow. A new scalar is its member, its enumerator and its row.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "sim/hardware/framework.h"

namespace meshwright {

enum class FrameworkScalar {
  gemm_time_factor,
  kernel_time_factor,
  collective_time_factor,
  host_launch,
  micro_batch_overhead,
  step_overhead,
  experts_kernel_time_factor,
  ring_attention_time_factor,
};

// A member of the framework, or of a part of it.
using ScalarMember = std::variant<double Framework::*, Seconds Framework::*, double ExpertFacts::*,
                                  double KernelFacts::*>;

struct FrameworkScalarRow {
  FrameworkScalar scalar;
  ScalarMember member;
  std::string_view about;      // one sentence
  std::string_view name;       // on the command line
  std::string_view key{name};  // in the JSON object of its owner
  std::string_view term{key};  // in FrameworkFit::terms
  bool is_refitted = true;     // a refit may move it
  // Where a refit starts if the file has none, and how far, in natural logarithms, it is expected
  // to go. Factors go as far as RefitPrior says.
  double usual = 1.0;
  double deviation = 0.0;
  [[nodiscard]] constexpr bool is_time() const {
    return std::holds_alternative<Seconds Framework::*>(member);
  }
};

// In the order of the enumeration.
inline constexpr std::array kFrameworkScalars{
    FrameworkScalarRow{.scalar = FrameworkScalar::gemm_time_factor,
                       .member = &Framework::gemm_time_factor,
                       .about = "Factor on GEMMs and fused attention.",
                       .name = "gemm_time_factor"},
    FrameworkScalarRow{.scalar = FrameworkScalar::kernel_time_factor,
                       .member = &Framework::kernel_time_factor,
                       .about = "Factor on memory-bound kernels and the optimizer.",
                       .name = "kernel_time_factor"},
    FrameworkScalarRow{.scalar = FrameworkScalar::collective_time_factor,
                       .member = &Framework::collective_time_factor,
                       .about = "Factor on collectives.",
                       .name = "collective_time_factor"},
    FrameworkScalarRow{.scalar = FrameworkScalar::host_launch,
                       .member = &Framework::host_launch,
                       .about = "Host time a kernel, if above the device's own.",
                       .name = "host_launch",
                       .usual = 30e-6,
                       .deviation = 1.0},
    FrameworkScalarRow{.scalar = FrameworkScalar::micro_batch_overhead,
                       .member = &Framework::micro_batch_overhead,
                       .about = "Time once a micro-batch and stage.",
                       .name = "micro_batch_overhead",
                       .usual = 5e-4,
                       .deviation = 1.5},
    FrameworkScalarRow{.scalar = FrameworkScalar::step_overhead,
                       .member = &Framework::step_overhead,
                       .about = "Time once a step.",
                       .name = "step_overhead",
                       .usual = 5e-3,
                       .deviation = 1.5},
    FrameworkScalarRow{.scalar = FrameworkScalar::experts_kernel_time_factor,
                       .member = &ExpertFacts::kernel_time_factor,
                       .about = "Factor on memory-bound kernels between them.",
                       .name = "experts_kernel_time_factor",
                       .key = "kernel_time_factor",
                       .term = "experts.kernel_time_factor"},
    FrameworkScalarRow{.scalar = FrameworkScalar::ring_attention_time_factor,
                       .member = &KernelFacts::ring_attention_time_factor,
                       .about = "Factor on fused attention over a ring of context ranks.",
                       .name = "ring_attention_time_factor",
                       .is_refitted = false},
};
constexpr const FrameworkScalarRow& row_of(FrameworkScalar scalar) {
  return kFrameworkScalars[static_cast<std::size_t>(scalar)];
}
constexpr std::string_view name_of(FrameworkScalar scalar) { return row_of(scalar).name; }

double value_of(FrameworkScalar scalar, const Framework& framework);  // a factor, or seconds
Framework with_value(Framework framework, FrameworkScalar scalar, double value);

}  // namespace meshwright
