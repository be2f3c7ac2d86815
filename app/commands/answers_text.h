// SPDX-License-Identifier: Apache-2.0
// A plan's answers as sentences and small tables for the terminal.
#pragma once

#include <string>

#include "planner/questions/answers.h"

namespace meshwright::app {

// Confidence, proposed runs, what the winner hangs on, flip points, scaling, what-ifs: the parts
// that there are, each a paragraph.
std::string answers_text(const planner::Answers& answers, const planner::Plan& plan);

}  // namespace meshwright::app
