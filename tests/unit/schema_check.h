// SPDX-License-Identifier: Apache-2.0
// What a JSON Schema says of a record. Compiled once for all test programs, since valijson is slow
// to compile.
#pragma once

#include <string>

#include "sim/record/json.h"

namespace meshwright::test {

// Its complaints; empty where it has none.
std::string complaint_of(const Json& schema, const Json& record);

}  // namespace meshwright::test
