// SPDX-License-Identifier: Apache-2.0
// Arguments of Megatron-LM in a YAML, by their names in Python or on a command line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/megatron_arguments.h"
#include "interop/read_launch/values.h"

namespace meshwright::interop {

// Three keys or more are arguments that a model, a job or a layout follows from.
bool is_megatron_yaml(const Values& values);
// Throws InputError as the command line's reader does.
void read_megatron_yaml(Values values, const std::string& file, const LaunchHints& hints,
                        LaunchRecord& record);

// Default of the software, which the user's arguments replace.
struct ArgumentDefault {
  const char *key, *word;
  const char* field;  // that follows from it
};
// Adds those that are not among the keys `said`, each as an assumption. `why`: "ms-swift's
// default".
void add_defaults(Values& arguments, std::span<const ArgumentDefault> defaults,
                  const std::vector<std::string>& said, const std::string& why,
                  LaunchRecord& record);

// Adds a value under the argument's key in Python, unless it is a switch that is off.
void add_megatron_argument(Values& arguments, Value value, const MegatronArgument& argument);

}  // namespace meshwright::interop
