// SPDX-License-Identifier: Apache-2.0
// A capacity answer on the terminal.
#pragma once

#include "app/commands/answers_text.h"
#include "planner/capacity/capacity_answer.h"

namespace meshwright::app {

// The verdict alone, as a heading.
Paragraph capacity_verdict(const planner::CapacityAnswer& answer);
// The verdict and the grid; where the time goes.
void print_capacity(const planner::CapacityAnswer& answer);
// What moves it, and what it rests on.
void print_capacity_basis(const planner::CapacityAnswer& answer);

}  // namespace meshwright::app
