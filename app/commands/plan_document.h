// SPDX-License-Identifier: Apache-2.0
// A plan on the terminal: the answer in at most 60 lines, or everything that was found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/commands/answers_text.h"
#include "app/options/inputs.h"
#include "planner/questions/answers.h"
#include "planner/search/choice.h"
#include "planner/search/plan.h"
#include "reports/records/capacity.h"

namespace meshwright::app {

struct PlanDocument {
  const Inputs& inputs;
  std::string found;  // a line on the GPUs or the sequence that were asked for; empty: neither
  const planner::Scaling& scaling;
  const planner::Plan& plan;
  const planner::LeftOutOfChoice& left_out;
  const std::optional<planner::Answers>& answers;
  const std::optional<reports::Capacity>& capacity;
  std::string runs_to_make;  // lines; empty: not asked for
  int top = 10;
};

// Lines about layouts that were omitted as near-duplicates or because of limits.
std::string left_out_text(const planner::LeftOutOfChoice& left_out);

// Standard error takes up to 6 lines in addition to these 54. Blocks that the user asks for by an
// option (--gpus, --what-if, --runs-to-make) are printed in full, whatever their length.
inline constexpr std::size_t kShortLines = 54;
// The winner, the fastest layouts, three red flags and three rejections.
void print_short(const PlanDocument& document);
void print_full(const PlanDocument& document);

}  // namespace meshwright::app
