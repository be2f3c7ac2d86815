// SPDX-License-Identifier: Apache-2.0
// The one entry: a model, a cluster, a job and a layout become seconds, bytes and gigabytes, or the
// reason why not.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sim/hardware/interval_regime.h"
#include "sim/layout/layout.h"
#include "sim/memory/memory_fit.h"
#include "sim/memory/stage_memory.h"
#include "sim/rules/rules.h"
#include "sim/step/evaluate.h"
#include "sim/step/scenario.h"
#include "sim/volume/volume.h"

namespace meshwright {

struct Estimate {
  Layout layout;
  Seconds step_time;
  Seconds step_time_low, step_time_high;  // nominal 90 % interval
  // Calibration level of the interval.
  IntervalRegime interval_regime = IntervalRegime::unknown_chip;
  std::string narrowed_by;  // advice to narrow it; empty: none known
  Terms terms{};
  std::vector<StageMemory> memory;  // per pipeline stage
  Bytes reserved_peak;              // peak_memory() with what the allocator reserves beside tensors
  MemoryFit memory_fit = MemoryFit::yes;
  Volume volume;
  Provenance provenance = Provenance::measured;  // the weakest of all terms that matter
  double tokens_per_second_per_gpu = 0;          // tokens of the global batch / step / devices
  double model_flops_utilization =
      0;  // of the device's peak for the job's precision; causal attention half
  [[nodiscard]] Bytes peak_memory() const;
  [[nodiscard]] Bytes peak_allocated() const;  // less the allocator's reserve
};

// A layout that cannot run, and what would have to change.
struct Infeasible {
  Layout layout;
  Violation violation;
};

using Outcome = std::variant<Estimate, Infeasible>;

// Describes the evaluation of a feasible layout, with memory per stage, the ledger and the
// interval.
Estimate described(const Evaluation& evaluation, CostTable& table, const Layout& layout);

// Deterministic and pure. Checks the rules, then memory, then computes time and volume.
Outcome estimate(const Scenario& scenario, const Layout& layout);
// The same of one layout of many.
Outcome estimate(CostTable& table, const Layout& layout);

}  // namespace meshwright
