// SPDX-License-Identifier: Apache-2.0
// A training and a service on one cluster as tables, for terminal and files.
#pragma once

#include "reports/records/shared_capacity.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

// One row a size of a cluster. `wide` has every column, for files.
Table shared_rows_table(const SharedCapacity& capacity, bool wide);
// One row an hour of the row in front: requests, replicas, latencies, GPUs. Empty: no row fits.
Table shared_hours_table(const SharedCapacity& capacity);

}  // namespace meshwright::reports
