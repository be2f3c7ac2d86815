// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/schema_check.h"

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace meshwright::test {

std::string complaint_of(const Json& schema, const Json& record) {
  // The type that valijson reads.
  const nlohmann::json schema_document = schema, document = record;
  valijson::Schema parsed;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_document), parsed);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(parsed, valijson::adapters::NlohmannJsonAdapter(document), &results)) {
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

}  // namespace meshwright::test
