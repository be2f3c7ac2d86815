// SPDX-License-Identifier: Apache-2.0
// DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1): micro-batches enter at both ends of the
// pipeline, each stage holds two chunks (two copies of the model in all), and a forward of one
// direction runs together with a backward of the other.
//
// The pair costs F + B + W here, one after the other on the device: what the real overlap hides is
// communication, which the caller leaves out of the times.
#pragma once

#include "sim/schedule/schedule.h"

namespace meshwright {

// Stages and micro-batches are even, micro_batches >= 2 * stages.
StageProgram dualpipe_program(int stages, int stage, int micro_batches);

}  // namespace meshwright
