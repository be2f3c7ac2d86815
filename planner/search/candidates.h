// SPDX-License-Identifier: Apache-2.0
// The layouts of a model over a few ranks that are worth measuring for: a calibration looks at what
// each of them runs.
#pragma once

#include <vector>

#include "sim/base/job.h"
#include "sim/layout/layout_group.h"
#include "sim/model/model.h"

namespace meshwright::planner {

// Every pipeline setting that uses all ranks and breaks no rule (micro-batches 1, 2 and 4, the
// default schedule), each with and without sequence parallelism and a sharded optimizer: what
// decides which collectives run. Nothing is recomputed.
std::vector<LayoutGroup> candidates(const Model& model, const Job& job, int ranks);

}  // namespace meshwright::planner
