// SPDX-License-Identifier: Apache-2.0
// What a JSON Schema of reports/schema says of a record.
#pragma once

#include <fstream>
#include <string>

#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/schema_check.h"

namespace meshwright::reports {

// A record as a reader of its text has it.
inline Json plain(const Json& record) { return Json::parse(record.dump()); }

// The complaints of schema/<name>.schema.json; empty when it has none.
inline std::string complaint(const std::string& name, const Json& record) {
  std::ifstream in(MESHWRIGHT_SOURCE_DIR "/reports/schema/" + name + ".schema.json");
  return test::complaint_of(Json::parse(in), record);
}

}  // namespace meshwright::reports
