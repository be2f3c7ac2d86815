// SPDX-License-Identifier: Apache-2.0
// One simulated step as a trace: a process for each pipeline stage (its first rank, of the first
// replica), a track for each of its streams, and what its memory holds.
//
// Communication that a chunk waits for is drawn after the chunk's compute, in one piece. The
// simulator knows its duration; a real step spreads it between the operators. Exposed and hidden
// parts of communication that happens once per step are one slice. It is placed so that its part
// after the backward pass is the exposed part.
#pragma once

#include "reports/trace/trace.h"
#include "sim/step/estimate.h"
#include "sim/step/scenario.h"

namespace meshwright::reports {

enum StepTrack { kCompute, kModelCommunication, kPipelineMessages, kDataParallel, kHost };

// Throws InputError when the step has more instructions than a viewer can show.
Trace step_trace(const Scenario& scenario, const Estimate& estimate);

}  // namespace meshwright::reports
