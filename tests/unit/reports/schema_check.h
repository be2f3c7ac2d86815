// SPDX-License-Identifier: Apache-2.0
// What a JSON Schema of reports/schema says about a record.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "sim/record/json.h"
#include "tests/paths.h"

namespace meshwright::reports {

// A record as a reader of its text has it.
inline Json plain(const Json& record) { return Json::parse(record.dump()); }

// The complaints of schema/<name>.schema.json; empty when it has none.
inline std::string complaint(const std::string& name, const nlohmann::json& record) {
  std::ifstream in(MESHWRIGHT_SOURCE_DIR "/reports/schema/" + name + ".schema.json");
  const nlohmann::json document = nlohmann::json::parse(in);
  valijson::Schema schema;
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(document), schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(record), &results)) {
    return "";
  }
  valijson::ValidationResults::Error error;
  std::string text = "refused";
  while (results.popError(error)) {
    text += "\n";
    for (const std::string& step : error.context) text += step;
    text += ": " + error.description;
  }
  return text;
}

}  // namespace meshwright::reports
