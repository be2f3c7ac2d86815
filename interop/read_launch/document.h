// SPDX-License-Identifier: Apache-2.0
// A configuration in YAML, TOML or JSON as values with dotted keys: "parallelism.tp" and "8". A
// list of plain values is one value of several words; members of other lists have their index in
// the key. Null is not there.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "interop/read_launch/values.h"

namespace meshwright::interop {

// All throw InputError with file, line and column where the text is not of the format, nests deeper
// than 50 levels, or holds more than 100,000 values.
Values values_of_yaml(std::string_view text, const std::string& file);
Values values_of_toml(std::string_view text, const std::string& file);
// The line of a value is that at which its key first stands.
Values values_of_json(std::string_view text, const std::string& file);

// OmegaConf's ${name}, ${section.name}, ${.name} beside it and ${..name} above it, put in, alone or
// inside a text; names of a section `variables` may stand without it. Resolvers that compute
// (multiply, add, divide and their kin), oc.env, oc.select and oc.decode are run; `variables` are
// what the user states of the environment. One that is not there, or another resolver, makes a
// value that is not known.
Values with_references(Values values, const std::map<std::string, std::string>& variables = {});

}  // namespace meshwright::interop
