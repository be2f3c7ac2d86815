// SPDX-License-Identifier: Apache-2.0
// The time of an interleaved step whose chunks take different times, as simulate() finds it from
// the same programs (parts.h, alternating_program), without keeping events.
//
// Programs repeat after each group of p micro-batches: once every stage takes the same time for a
// group as for the one before, all further ones do, too, and are not run.
#pragma once

#include "sim/schedule/instruction.h"

namespace meshwright {

// `warmup`: forwards of a stage before its first backward. Micro-batches are a multiple of stages.
Seconds uneven_total(const PipelineLoad& pipeline, int micro_batches,
                     int (*warmup)(const PipelineSizes&, int stage));

}  // namespace meshwright
