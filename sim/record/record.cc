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
    if (!row.about.empty() && value.contains("title")) value = {{"allOf", Json::array({value})}};
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

namespace {

// The schema, with references in place of the named objects in it.
Json with_references(const Json& schema, Json& definitions) {
  if (!schema.is_structured()) return schema;
  Json made = schema.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : schema.items()) {
    Json inner = with_references(value, definitions);
    if (schema.is_array()) {
      made.push_back(std::move(inner));
    } else {
      made[key] = std::move(inner);
    }
  }
  const auto title = made.find("title");
  if (title == made.end() || !title->is_string()) return made;
  const std::string name = *title;
  made.erase("title");
  definitions[name] = std::move(made);
  return {{"$ref", "#/definitions/" + name}};
}

}  // namespace

Json file_schema(std::string_view title, Json object) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  object.erase("title");
  Json definitions = Json::object();
  Json plain = with_references(object, definitions);
  if (!definitions.empty()) schema["definitions"] = std::move(definitions);
  schema.update(plain);
  return schema;
}

}  // namespace meshwright
