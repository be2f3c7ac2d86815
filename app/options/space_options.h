// SPDX-License-Identifier: Apache-2.0
// The axes of a search on the command line: --tp 1,2,4 --pp 1..16 --sp true.
#pragma once

#include <array>
#include <string>

#include "planner/search/search.h"
#include "sim/layout/fields.h"

namespace CLI {
class App;
}

namespace meshwright::app {

struct SpaceOptions {
  std::array<std::string, kNumLayoutFields> axes;  // as typed, by row of the table of fields
  std::string first_stage_layers, last_stage_layers, account_embedding_loss;
  bool no_overlap = false;
};

void add_space_options(CLI::App& command, SpaceOptions& options);
// Throws InputError that names the flag.
planner::SearchSpace space_of(const SpaceOptions& options);

// "1,2,4" and "1..16" (every whole number between), mixed with commas.
std::vector<int> int_list(const std::string& flag, const std::string& text, int lowest);

}  // namespace meshwright::app
