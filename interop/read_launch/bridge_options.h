// SPDX-License-Identifier: Apache-2.0
// Options of Megatron-Bridge's commands (scripts/training/run_recipe.py and train.sh,
// scripts/performance/setup_experiment.py) that say what an override says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interop/read_launch/bridge_recipe.h"
#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/values.h"

namespace meshwright::interop {

// Tells whether a text starts a recipe by its name.
bool names_bridge_recipe(std::string_view text);
// Tells whether a word is an option that names one.
bool is_bridge_recipe_option(std::string_view word);

struct BridgeOptions {
  std::string recipe;  // empty: none is named
  Value said;          // the option that names it
  Values overrides;    // sizes that options state
  Values others;       // under their names without dashes
};
// Sorts a command's options; devices are set in the record. `selects`: --model names one, too.
BridgeOptions bridge_options(const std::vector<Value>& options, bool selects, LaunchRecord& record);

}  // namespace meshwright::interop
