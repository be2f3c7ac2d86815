// SPDX-License-Identifier: Apache-2.0
// One layout's time, memory and volume, as meshwright estimate answers.
#pragma once

#include <string>
#include <vector>

#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/step/estimate.h"
#include "sim/step/scenario.h"

namespace meshwright::reports {

// Whether a layout that obeys every other rule has the memory that it needs. The rest says why not.
struct MemoryVerdict {
  bool fits = true;
  std::string rule{};
  Bytes needed, available;
  std::string sentence{}, smallest_change{};  // empty: no single change was found
};

struct EstimateAnswer : Scenario {
  Origin origin{};
  std::vector<std::string> defaults{};  // values that the user did not set
  std::vector<std::string>
      notes{};  // inputs that were not measured, are unproven, or are used in part
  MemoryVerdict verdict{};
  Estimate estimate{};
};
const Record<EstimateAnswer>& estimate_answer_record();

}  // namespace meshwright::reports
