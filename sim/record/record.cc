// SPDX-License-Identifier: Apache-2.0
#include "sim/record/record.h"

#include <fmt/format.h>

namespace meshwright {

bool says(const ObjectReader& reader, const std::string& key, const std::optional<Unit>& unit) {
  if (!unit) return reader.has(key);
  const bool friendly = reader.has(key + std::string(unit->suffix));
  return reader.has(key + std::string(unit->base_suffix)) || friendly;
}

void fail_missing(ObjectReader& reader, const std::string& key, const std::optional<Unit>& unit) {
  reader.fail(unit ? key + std::string(unit->suffix) : key, "is required and missing");
}

void check_schema_name(ObjectReader& reader, const std::vector<std::string>& names, bool required) {
  if (!required && !reader.has("schema")) return;
  const std::string given = reader.required_string("schema");
  if (std::find(names.begin(), names.end(), given) != names.end()) return;
  reader.fail("schema", fmt::format("is \"{}\"; this version reads \"{}\"", given, names.front()));
}

Json object_schema(const std::vector<RowSchema>& rows, const std::string& about) {
  Json properties = Json::object(), required = Json::array(), either = Json::array();
  for (const RowSchema& row : rows) {
    Json value = row.value;
    if (!row.about.empty()) value["description"] = row.about;
    if (!row.unit) {
      properties[row.key] = value;
      if (row.required) required.push_back(row.key);
      continue;
    }
    const std::string friendly = row.key + std::string(row.unit->suffix),
                      base = row.key + std::string(row.unit->base_suffix);
    properties[friendly] = value;
    value["description"] = "The same in base units.";
    properties[base] = value;
    if (!row.required) continue;
    either.push_back({{"anyOf", {{{"required", {friendly}}}, {{"required", {base}}}}}});
  }
  Json schema{{"type", "object"}};
  if (!about.empty()) schema["description"] = about;
  if (!required.empty()) schema["required"] = required;
  if (!either.empty()) schema["allOf"] = either;
  schema["properties"] = properties;
  schema["additionalProperties"] = false;
  return schema;
}

Json file_schema(std::string_view title, Json object) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(object);
  return schema;
}

}  // namespace meshwright
