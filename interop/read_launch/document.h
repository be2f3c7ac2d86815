// SPDX-License-Identifier: Apache-2.0
// A configuration in YAML, TOML or JSON as values with dotted keys: "parallelism.tp" and "8". A
// list of plain values is one value of several words; members of other lists have their index in
// the key. Null is not there.
#pragma once

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

// OmegaConf's ${name}, ${section.name}, ${.name} beside it and ${..name} above it, put in; names of
// a section `variables` may stand without it. One that is not there, or a resolver such as
// ${multiply:...}, makes a value that is not known.
Values with_references(Values values);

}  // namespace meshwright::interop
