// SPDX-License-Identifier: Apache-2.0
// What happened when a layout was really run.
#pragma once

#include <string>
#include <vector>

#include "sim/estimate.h"
#include "sim/layout/layout.h"
#include "sim/units.h"

namespace meshwright {

struct ObservedTerm {
  TermKind kind = TermKind::forward_compute;
  Seconds time;  // median over steps, slowest rank; waiting inside collectives is pipeline_bubble
                 // or its own term
};

struct Observation {
  Layout layout;       // the plan's
  Layout run_layout;   // what the ranks at hand could run; equal to layout when everything was run
  int run_layers = 0;  // layers of the model really run
  int run_global_batch_size = 0;  // sequences a step really run; 0: the job's
  int ranks = 0;
  int steps = 0;
  bool complete = true;              // everything of the plan's layout was run
  std::vector<std::string> not_run;  // what was not, in words
  Seconds step_time;                 // median over steps of the slowest rank
  Seconds step_time_p10, step_time_p90, step_time_min;
  std::vector<ObservedTerm> terms;
  std::vector<Transfer>
      counted;          // bytes that the ranks themselves counted (rank 0's view), by collective
  Bytes peak_memory;    // largest rank
  double loss = 0.0;    // after the last step
  std::string device;   // "cpu", "cuda"
  std::string failure;  // empty, or why the run ended early
};

}  // namespace meshwright
