// SPDX-License-Identifier: Apache-2.0
// The steps of a simulated service, as serve simulate --trace writes them.
#pragma once

#include <vector>

#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/serving/simulation.h"

namespace meshwright::reports {

struct ServingTraceFile {
  Origin origin{};
  int block_size = 0;
  std::vector<TracedStep> steps{};
};
const Record<ServingTraceFile>& serving_trace_record();

}  // namespace meshwright::reports
