// SPDX-License-Identifier: Apache-2.0
// The one entry: a model, a cluster, a job and a layout become seconds, bytes and gigabytes, or the
// reason why not.
#pragma once

#include <array>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/cost/memory.h"
#include "sim/cost/volume.h"
#include "sim/hardware/cluster.h"
#include "sim/job.h"
#include "sim/layout/layout.h"
#include "sim/layout/rules.h"
#include "sim/model/model.h"

namespace meshwright {

// The parts of a step; they add up to it.
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

struct Term {
  TermKind kind = TermKind::forward_compute;
  Cost cost;
};

struct Estimate {
  Layout layout;
  Seconds step_time;
  Seconds step_time_low, step_time_high;  // nominal 90 % interval
  std::array<Term, kNumTerms> terms{};
  std::vector<StageMemory> memory;  // per pipeline stage
  Volume volume;
  Provenance provenance = Provenance::measured;  // the weakest of all terms that matter
  double tokens_per_second_per_gpu = 0;
  double model_flops_utilization =
      0;  // of the device's peak for the job's precision; causal attention half
  [[nodiscard]] Bytes peak_memory() const;
};

// A layout that cannot run, and what would have to change.
struct Infeasible {
  Layout layout;
  Violation violation;
};

using Outcome = std::variant<Estimate, Infeasible>;

// Deterministic and pure. Checks the rules, then memory, then computes time and volume.
Outcome estimate(const Model& model, const Cluster& cluster, const Job& job, const Layout& layout);

}  // namespace meshwright
