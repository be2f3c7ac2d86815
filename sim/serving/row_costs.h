// SPDX-License-Identifier: Apache-2.0
// What one pass over a replica's layers costs at each number of rows, term by term: its operators
// with the rates of the device, and the transfers of its ledger (step_volume.h).
#pragma once

#include <array>

#include "sim/kernel_time/compute.h"
#include "sim/serving/engine.h"
#include "sim/serving/row_table.h"

namespace meshwright {

struct RowCosts {
  Cost linears, small_kernels, all_reduce, exchange, experts, head, draft, context_exchange, send;
};
using RowCostTable = std::array<RowCosts, RowTable::kPoints>;

// Options as in replica_cost.
RowCostTable row_costs(const Model& model, const ServingCluster& cluster, const Engine& engine,
                       const ReplicaOptions& options);

// Of the trial's engine on cores, whose host a calibration has timed; otherwise null.
const HostStepRate* timed_host(const ServingCluster& cluster);

}  // namespace meshwright
