// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/accuracy/backtest.h"
#include "sim/step/estimate.h"
#include "sim/step/observation.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct TermComparison {
  TermKind kind = TermKind::forward_compute;
  Seconds predicted, measured;
};

// All calls of one entry of the ledger in a step, as rank 0 made and timed them.
struct TransferComparison {
  Transfer counted;
  Seconds predicted, measured;  // measured 0: not timed
  // The ledger has the same calls with the same bytes; where states are sharded by unit or context
  // ranks exchange heads, the same bytes in all calls of the entry, but for shards' padding.
  bool as_predicted = false;
};

// Predicted for the host as fast as it was during the run, not as when it was calibrated.
struct AtHostSpeed {
  double error = 0.0;  // predicted * host_time_ratio / measured - 1
  bool inside_interval = false;
};

struct LayoutComparison {
  Observation observation;
  Estimate
      predicted;  // prediction of the executed run (run_layout, run_layers), on as many devices
  double error = 0.0;  // predicted / measured - 1
  bool inside_interval = false;
  // The same of a prediction times the observation's host_time_ratio; none: it has none.
  std::optional<AtHostSpeed> at_host_speed;
  double memory_error = 0.0;  // predicted / measured peak memory - 1
  std::vector<TermComparison> terms;
  std::vector<TransferComparison> transfers;
  // Every call of rank 0 but single numbers is in the ledger, as said above, and nothing else is.
  bool same_bytes = false;
};

struct Validation {
  std::vector<LayoutComparison> layouts;
  std::vector<std::string> skipped;    // observations that failed, and why
  double median_absolute_error = 0.0;  // of |predicted / measured - 1|
  double worst_absolute_error = 0.0;   // the largest of these errors
  double kendall_tau = 0.0;  // rank agreement, when three or more layouts were run; else 0
  // The layout predicted fastest, measured, over the one measured fastest, - 1.
  double regret = 0.0;
  double median_absolute_memory_error = 0.0;  // of the peak memory
  double interval_coverage = 0.0;             // share of layouts measured inside their interval
  // Error and coverage of the layouts whose runs measured the host's speed; nothing if no run did.
  std::optional<double> median_absolute_error_at_host_speed, worst_absolute_error_at_host_speed,
      interval_coverage_at_host_speed;
  // Regret with each time divided by its host's slowdown; nothing if a run did not measure it.
  std::optional<double> regret_at_host_speed;
};

// What most of the error comes from: a term, or the speed of the host, that has changed since it
// was calibrated.
struct ErrorCause {
  std::optional<TermKind> term;  // none: the host's speed
  double share_of_step = 0.0;    // above 0: predicted too long
};
// The cause with the largest median over the layouts of its part of predicted less measured, as a
// share of the measured step. With host_time_ratio r the host's part is (1 - r) predicted, and a
// term's r predicted less measured; without, r is 1. None without measured terms and ratios.
std::optional<ErrorCause> largest_error_cause(const Validation& validation);

Validation validate(const Scenario& scenario, const std::vector<Observation>& observations);

// Turns observations into measured runs for planner::refit, each with the model, job, devices and
// layout that were executed. Failed observations are omitted.
MeasuredSet observed_runs(const Scenario& scenario, const std::vector<Observation>& observations);

// Kendall's tau-b of two equally long series.
double kendall_tau(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace meshwright::planner
