// SPDX-License-Identifier: Apache-2.0
// A plan in sentences.
#pragma once

#include <string>

#include "planner/search/plan.h"

namespace meshwright::reports {

// "The best layout is tp4 pp4 dp32: 3.545 s per step (90 % interval: 3.253 to 4.13 s).", and that
// its fit is uncertain.
std::string winner_text(const planner::Plan& plan);
// Its MFU, throughput and memory, and where the step's time goes, in sentences.
std::string winner_limits_text(const planner::Plan& plan);
// "memory_capacity (10,476 layouts): ... It becomes valid with sequence_parallel off -> on."
std::string rejection_text(const planner::Rejection& rejection);

}  // namespace meshwright::reports
