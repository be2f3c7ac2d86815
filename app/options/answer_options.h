// SPDX-License-Identifier: Apache-2.0
// What a plan is asked on the command line: --objective, limits, several GPU counts, --what-if.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/questions/answers.h"

namespace CLI {
class App;
}

namespace meshwright::app {

struct AnswerTexts {
  std::string objective = "step_time";
  std::string max_memory, headroom, max_step;
  double max_cost = 0.0;        // 0: no limit
  std::optional<double> price;  // else the cluster's
  std::vector<std::string> what_ifs;
  bool no_answers = false;
};

void add_answer_options(CLI::App& command, AnswerTexts& texts);
// Throws InputError that names the flag.
planner::AnswerOptions answer_options_of(const AnswerTexts& texts);

struct UnitFactor {
  std::string unit;
  double factor;
};
// "72GiB" with {"GiB", 2^30}: the amount in base units. Throws InputError that names flag and
// units.
double amount_of(const std::string& flag, const std::string& text,
                 const std::vector<UnitFactor>& units);

}  // namespace meshwright::app
