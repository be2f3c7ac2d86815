// SPDX-License-Identifier: Apache-2.0
// The steps that ranks really ran as a trace: one process a rank, with a track for computing and
// one for what it does with others. Layouts follow one another.
#pragma once

#include <vector>

#include "reports/trace/trace.h"
#include "sim/step/observation.h"

namespace meshwright::app {

reports::Trace trial_trace(const std::vector<Observation>& observations);

}  // namespace meshwright::app
