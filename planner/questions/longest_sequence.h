// SPDX-License-Identifier: Apache-2.0
// The longest sequence with which a layout fits and meets the limits.
#pragma once

#include <string>

#include "planner/questions/scaling.h"

namespace meshwright::planner {

inline constexpr int kSequenceStep = 1024;  // lengths that are tried are its multiples

struct LongestSequence {
  int tokens = 0;      // 0: no length has a layout
  int failed = 0;      // the next length that was tried; 0: none failed
  std::string reason;  // then: why it fails
};

// Lengths double, or are halved, from the job's; then those between are halved, to kSequenceStep or
// 2 %. The batch keeps its number of sequences.
LongestSequence longest_sequence(const Scenario& scenario, const SearchOptions& search,
                                 const Limits& limits);

}  // namespace meshwright::planner
