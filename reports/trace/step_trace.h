// SPDX-License-Identifier: Apache-2.0
// One simulated step as a trace: a process for each pipeline stage (its first rank, of the first
// replica), a track for each of its streams, and what its memory holds.
//
// What communication a chunk waits for is drawn after the chunk's compute, in one piece: the
// simulator knows how much there is, and a real step spreads it between the operators. Exposed
// parts and hidden parts of once-a-step communication are one slice, placed so that what sticks out
// of the backward pass is what the step waits for.
#pragma once

#include "reports/trace/trace.h"
#include "sim/step/estimate.h"
#include "sim/step/scenario.h"

namespace meshwright::reports {

enum StepTrack { kCompute, kModelCommunication, kPipelineMessages, kDataParallel, kHost };

// Throws InputError when the step has more instructions than a viewer can show.
Trace step_trace(const Scenario& scenario, const Estimate& estimate);

}  // namespace meshwright::reports
