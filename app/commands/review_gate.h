// SPDX-License-Identifier: Apache-2.0
// Conditions under which the review of a launch fails a pipeline. They are those of a diff of two
// plans (plan_diff.h): the launched layout stands for the later plan, the fastest that was found
// for the earlier one. "uncertain" is one more: whether the launch fits is not sure.
#pragma once

#include <optional>
#include <string>

#include "planner/questions/plan_diff.h"
#include "planner/questions/review.h"

namespace meshwright::app {

struct ReviewGate {
  std::optional<planner::Gate> gate{};  // nothing: "uncertain"
  std::string text{};
};
// Throws InputError that says what is allowed.
ReviewGate review_gate_from_text(const std::string& text);

// Why the gate fails, in words; empty: it holds, or the launch cannot run anyway.
std::string failure(const ReviewGate& gate, const planner::Review& review, int devices);

}  // namespace meshwright::app
