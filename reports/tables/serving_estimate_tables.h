// SPDX-License-Identifier: Apache-2.0
// The tables of serve estimate.
#pragma once

#include "reports/tables/table.h"
#include "sim/serving/estimate.h"

namespace meshwright::reports {

// One row a part of the memory of the rank that needs most.
Table serving_memory_table(const ReplicaMemory& memory);
// One row a term of a step: prefill and decode beside each other.
Table serving_terms_table(const ServingEstimate& estimate);
// One row a kind of transfer: of the prefill and of the decode step.
Table serving_volume_table(const ServingEstimate& estimate);

}  // namespace meshwright::reports
