// SPDX-License-Identifier: Apache-2.0
// The executed steps of the ranks as a trace: one process per rank, with a track for computing and
// one for what it does with others. Layouts follow one another.
#pragma once

#include <vector>

#include "reports/trace/trace.h"
#include "sim/step/observation.h"

namespace meshwright::app {

reports::Trace trial_trace(const std::vector<Observation>& observations);

}  // namespace meshwright::app
