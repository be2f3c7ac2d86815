// SPDX-License-Identifier: Apache-2.0
#include "sim/record/record.h"

#include <fmt/format.h>

#include <algorithm>

namespace meshwright {

namespace {

// Tells whether a row's key, or one of an amount's two keys, is there.
bool says(const ObjectReader& reader, const std::string& key, const std::optional<Unit>& unit) {
  if (!unit) return reader.has(key);
  const bool friendly = reader.has(key + std::string(unit->suffix));
  return reader.has(key + std::string(unit->base_suffix)) || friendly;
}

[[noreturn]] void fail_missing(ObjectReader& reader, const std::string& key,
                               const std::optional<Unit>& unit) {
  reader.fail(unit ? key + std::string(unit->suffix) : key, "is required and missing");
}

// Checks the kind that a file states: one of `names`.
void check_schema_name(ObjectReader& reader, const std::vector<std::string>& names, bool required) {
  if (!required && !reader.has("schema")) return;
  const std::string given = reader.required_string("schema");
  if (std::find(names.begin(), names.end(), given) != names.end()) return;
  reader.fail("schema", fmt::format("is \"{}\"; this version reads \"{}\"", given, names.front()));
}

}  // namespace

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

Json beyond(const Json& all, const Json& common) {
  Json said = Json::object();
  for (const auto& [key, value] : all.items()) {
    if (!common.contains(key) || common[key] != value) said[key] = value;
  }
  return said;
}

Json written_alone(const Value& value, const void* written) {
  Json json = Json::object();
  value.write(json, "", written);
  return json.empty() ? Json() : json.front();
}

void ObjectValue::read(ObjectReader& reader, const std::string& key, void* value) const {
  ObjectReader inside = reader.required_object(key);
  rows().read(inside, value);
}

void ObjectValue::write(Json& json, const std::string& key, const void* value) const {
  json[key] = rows().write(value);
}

Json ObjectValue::schema() const { return rows().schema(); }

void ListValue::read(ObjectReader& reader, const std::string& key, void* value) const {
  clear(value);
  const Json& array = reader.required_array(key);
  for (std::size_t i = 0; i < array.size(); ++i) {
    ObjectReader inside(array[i], reader.file(), reader.pointer_to(key) + "/" + std::to_string(i));
    rows().read(inside, append(value));
  }
}

void ListValue::write(Json& json, const std::string& key, const void* value) const {
  Json& array = json[key] = Json::array();
  for (std::size_t i = 0; i < size(value); ++i) array.push_back(rows().write(at(value, i)));
}

Json ListValue::schema() const { return {{"type", "array"}, {"items", rows().schema()}}; }

// A member as a row writes it: "" with its unit's suffix, and the value; empty: it is not written.
Json Rows::Row::written(const std::string& name, const void* record) const {
  Json json = Json::object();
  value->write(json, name, part(const_cast<void*>(record)));
  return json;
}

Rows::Rows() = default;
Rows::~Rows() = default;
Rows::Rows(const Rows&) = default;
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(const Rows&) = default;
Rows& Rows::operator=(Rows&&) noexcept = default;

void Rows::add(std::string_view key, const Value* value, Part part, std::string_view about_row) {
  Row& made = rows.emplace_back();
  made.key = key;
  made.value = value;
  made.part = std::move(part);
  made.about = about_row;
  made.schema = [value] { return value->schema(); };
}

void Rows::add(std::string_view member, std::string_view base_suffix, const Value* value,
               void* (*part)(void*), std::string_view about_row) {
  add(member, value, part, about_row);
  if (!value->unit) last().key += base_suffix;
}

void Rows::add_check(Check check) { rows.emplace_back().check = std::move(check); }

void Rows::add_unread(std::string_view key, std::function<Json()> schema,
                      std::string_view about_row) {
  Row& made = rows.emplace_back();
  made.key = key;
  made.about = about_row;
  made.schema = std::move(schema);
}

void Rows::omit_at_default(const void* (*plain)()) {
  last().written_if = [row = last(), plain](const void* record) {
    return row.written("", record) != row.written("", plain());
  };
}

void Rows::add(const Rows& base, const Part& part, const Test& only_if) {
  // A function of the part as one of the record.
  const auto of_record = [part](const auto& function) {
    return
        [part, function](const void* record) { return function(part(const_cast<void*>(record))); };
  };
  for (const Row& row : base.rows) {
    Row& made = rows.emplace_back(row);
    if (row.value != nullptr) {
      made.part = [part, inside = row.part](void* record) { return inside(part(record)); };
    }
    made.exists_if = only_if;
    if (row.exists_if) {
      made.exists_if = [only_if, exists_if = of_record(row.exists_if)](const void* record) {
        return (!only_if || only_if(record)) && exists_if(record);
      };
    }
    if (row.written_if) made.written_if = of_record(row.written_if);
    if (row.derive) made.derive = of_record(row.derive);
    if (row.complete) {
      made.complete = [part, complete = row.complete](void* record, ObjectReader& reader) {
        complete(part(record), reader);
      };
    }
    if (row.check) {
      made.check = [part, check = row.check](const void* record, ObjectReader& reader) {
        check(part(const_cast<void*>(record)), reader);
      };
    }
  }
}

void Rows::require_all() {
  for (Row& row : rows) row.required = row.required || !(row.written_if || row.exists_if);
}

void Rows::read(ObjectReader& reader, void* record) const {
  if (!schema_names.empty()) check_schema_name(reader, schema_names, schema_required);
  std::vector<std::string_view> unread;
  for (const Row& row : rows) {
    if (row.exists_if && !row.exists_if(record)) continue;
    if (row.check) {
      row.check(record, reader);
    } else if (!row.value) {
      unread.push_back(row.key);
    } else if (says(reader, row.key, row.value->unit)) {
      row.value->read(reader, row.key, row.part(record));
    } else if (row.required && !row.may_lack && !(row.value->nullable && reader.is_null(row.key))) {
      fail_missing(reader, row.key, row.value->unit);
    } else if (row.complete) {
      row.complete(record, reader);
    }
  }
  reader.finish(unread);
}

Json Rows::write(const void* record) const {
  Json json = Json::object();
  if (!schema_names.empty()) json["schema"] = schema_names.front();
  for (const Row& row : rows) {
    if (row.exists_if && !row.exists_if(record)) continue;
    if (row.written_if && !row.written_if(record)) continue;
    if (row.value) row.value->write(json, row.key, row.part(const_cast<void*>(record)));
    if (!row.derive) continue;
    const Json said = row.derive(record);
    if (!said.is_null()) json[row.key] = said;
  }
  return json;
}

std::vector<RowDifference> Rows::differences(const void* a, const void* b) const {
  std::vector<RowDifference> found;
  for (const Row& row : rows) {
    if (!row.value) continue;
    const Json of_a = row.written("", a), of_b = row.written("", b);
    if (of_a == of_b) continue;
    const auto value = [](const Json& json) { return json.empty() ? Json() : json.front(); };
    found.push_back({row.key, value(of_a), value(of_b)});
  }
  return found;
}

void Rows::overlay(void* record, const void* given, const std::vector<std::string>& keys,
                   const std::string& source) const {
  const Json none = Json::object();
  ObjectReader reader(none, source);
  for (const Row& row : rows) {
    if (row.exists_if && !row.exists_if(record)) continue;
    if (row.check) {
      row.check(record, reader);
    } else if (row.value && std::find(keys.begin(), keys.end(), row.key) != keys.end()) {
      const Json said = row.written(row.key, given);
      void* const value = row.part(record);
      if (said.empty() || said.front().is_null()) {
        row.value->forget(value);
      } else {
        ObjectReader saying(said, source);
        row.value->read(saying, row.key, value);
      }
    } else if (row.complete) {
      row.complete(record, reader);
    }
  }
}

Json Rows::schema() const {
  std::vector<RowSchema> known;
  if (!schema_names.empty()) {
    const Json file_name = schema_names.size() == 1 ? Json{{"const", schema_names.front()}}
                                                    : Json{{"enum", schema_names}};
    known.push_back({.key = "schema", .value = file_name, .required = schema_required});
  }
  for (const Row& row : rows) {
    if (!row.schema) continue;
    const std::optional<Unit> unit = row.value ? row.value->unit : std::nullopt;
    known.push_back({row.key, unit, row.schema(), row.about, row.required && !row.exists_if});
  }
  Json made = object_schema(known, about);
  if (!name.empty()) made["title"] = name;
  if (!also.is_null()) made.update(also);
  return made;
}

}  // namespace meshwright
