// SPDX-License-Identifier: Apache-2.0
// A training run on counts of hosts: the fastest run on at most so many.
//
// A count that is 2^k or 3 x 2^k hosts has layouts for most models and batches; other counts often
// have none, or slow ones. A run on at most n hosts is the fastest of n itself and of the largest
// such counts below it. Hosts that it does not use stay free.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

// 1, 2, 3, 4, 6, 8, 12, ... up to `most`, ascending.
std::vector<int> round_counts(int most);

// Hosts that hold so many spare nodes of eight GPUs: ceil(8 nodes / GPUs of a host).
int hosts_of_spares(int nodes, int host_gpus);

// Runs on one cluster of a question, which outlives it. Each count is searched once.
class TrainingCounts {
 public:
  TrainingCounts(const CapacityQuestion& question, std::size_t cluster_case);

  // The fastest run of the question's batches on exactly so many GPUs; else why there is none.
  const CapacityRow& at(int gpus);
  // Hosts that a run on so many hosts keeps as spares.
  [[nodiscard]] int spare_hosts(int hosts) const;
  // On at most so many hosts, spares among them; null: nothing fits. `exact`: also on as many as
  // there are, round or not.
  const CapacityRow* within(int hosts, bool exact);
  // Why the last search of within() found nothing.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] int host_gpus() const { return host_gpus_; }
  // Counts of GPUs that were searched, ascending.
  [[nodiscard]] std::vector<int> searched() const;

 private:
  // Hosts of the largest run that leaves room for its spares; 0: none does.
  [[nodiscard]] int largest_with_spares(int hosts) const;

  const CapacityQuestion& question_;
  std::size_t cluster_case_;
  int host_gpus_;
  LayoutFinder finder_;
  std::map<int, CapacityRow> rows_{};
  std::string reason_{};
};

}  // namespace meshwright::planner
