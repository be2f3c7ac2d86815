// SPDX-License-Identifier: Apache-2.0
// Capacity for a training and a service on one cluster: GPUs by hour, what is left, days, cost, and
// the smallest cluster that does both.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/shared_cluster/smallest_cluster.h"

namespace meshwright::planner {

struct SharedQuestion {
  // GPU counts are sizes of the whole cluster.
  CapacityQuestion training{};
  ServiceOptions service{};
  std::vector<ServingQuestion> serving{};  // one a cluster of the training; rates are set here
};

// What the rows of one cluster share.
struct SharedCluster {
  ServiceByHour service{};
  std::optional<SmallestCluster> smallest{};  // nothing: the service misses its targets
  std::vector<int> searched_gpus{};           // counts of the training that were searched
};

struct SharedAnswer {
  SharedQuestion question{};
  std::vector<SharedCluster> clusters{};
  // The sizes that were asked for and the smallest, by cluster and size.
  std::vector<SharedRow> rows{};
  // Of the rows: the smallest of the cluster that is cheapest over the same days (cost_over);
  // fewest GPUs where not all have a price.
  std::optional<std::size_t> recommended{};
  // Where none keeps all limits: the row that comes nearest. Nothing: no row fits.
  std::optional<std::size_t> closest{};
  [[nodiscard]] const SharedRow* front() const;
};

// The largest cluster that a search looks at: the stated limit, or the largest size that is asked
// for, or four times the cluster's file.
int most_gpus_of(const CapacityQuestion& question, std::size_t cluster_case);

// Median cost of so many days, at least those of the training: all GPUs until the training ends,
// then those of the service. The row has a cost.
double cost_over(const SharedRow& row, double days);

// Deterministic.
SharedAnswer shared_answer(const SharedQuestion& question, const CapacityProgress& progress = {});

}  // namespace meshwright::planner
