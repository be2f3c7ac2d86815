// SPDX-License-Identifier: Apache-2.0
#include "reports/record_schema.h"

#include <fmt/format.h>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "reports/html.h"
#include "reports/origin_json.h"
#include "reports/report_json.h"
#include "sim/base/error.h"
#include "sim/record/reader.h"

namespace meshwright::reports {
namespace {

// valijson names a place as "<root>", "[ranked]", "[0]".
std::string pointer_of(const std::vector<std::string>& steps) {
  std::string pointer;
  for (const std::string& step : steps) {
    if (step.size() > 2 && step.front() == '[')
      pointer += "/" + pointer_token(step.substr(1, step.size() - 2));
  }
  return pointer.empty() ? "/" : pointer;
}

}  // namespace

void require_report(const Json& json, const std::string& file) {
  require_schema(json, file, kReportSchema);
  const nlohmann::json text = nlohmann::json::parse(report_schema());
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(text), schema);
  const nlohmann::json record = json;  // the type that valijson reads
  valijson::ValidationResults results;
  valijson::Validator validator;
  if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(record), &results)) return;
  // The deepest complaint is the most exact one; it comes first.
  valijson::ValidationResults::Error error;
  results.popError(error);
  throw InputError(file, pointer_of(error.context), error.description,
                   "make the report again with this version of meshwright");
}

}  // namespace meshwright::reports
