// SPDX-License-Identifier: Apache-2.0
#include "sim/record/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "sim/base/error.h"

namespace meshwright {
namespace {

// Times divide (1e-6 is not exact), the others multiply.
double to_base(double value, const Unit& unit) {
  return unit.base_suffix == "_seconds" ? value / unit.scale : value * unit.scale;
}
double from_base(double value, const Unit& unit) {
  return unit.base_suffix == "_seconds" ? value * unit.scale : value / unit.scale;
}

std::string key_of(std::string_view name, std::string_view suffix) {
  return fmt::format("{}{}", name, suffix);
}

void write_amount(Json& json, const std::string& name, double value, const Unit& unit) {
  const double friendly = from_base(value, unit);
  for (const double candidate :
       {friendly, std::nextafter(friendly, 0.0), std::nextafter(friendly, HUGE_VAL)}) {
    if (to_base(candidate, unit) != value) continue;
    json[key_of(name, unit.suffix)] = candidate;
    return;
  }
  json[key_of(name, unit.base_suffix)] = value;
}

double read_amount(ObjectReader& reader, const std::string& name, const Unit& unit,
                   NumberRange range) {
  const std::string friendly = key_of(name, unit.suffix), base = key_of(name, unit.base_suffix);
  if (!reader.has(base)) return to_base(reader.required_number(friendly, range), unit);
  if (reader.has(friendly)) {
    reader.fail(base, fmt::format("is given beside {}", friendly), "keep one of the two");
  }
  return reader.required_number(base, range);
}

Json integer_schema(IntRange range) {
  return {{"type", "integer"}, {"minimum", range.low}, {"maximum", range.high}};
}

Json number_schema(NumberRange range) {
  Json schema{{"type", "number"}};
  if (range.low > -1e300) schema[range.low_excluded ? "exclusiveMinimum" : "minimum"] = range.low;
  if (range.high < 1e300) schema["maximum"] = range.high;
  return schema;
}

}  // namespace

std::size_t read_choice(ObjectReader& reader, const std::string& key,
                        const std::vector<std::string_view>& names) {
  const std::string word = reader.required_string(key);
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) reader.fail_choice(key, word, names);
  return static_cast<std::size_t>(found - names.begin());
}

Json choice_schema(const std::vector<std::string_view>& names) { return {{"enum", names}}; }

const Value* kept(std::unique_ptr<const Value> value) {
  static std::mutex one_at_a_time;
  static auto& all = *new std::vector<std::unique_ptr<const Value>>;
  const std::lock_guard lock(one_at_a_time);
  return all.emplace_back(std::move(value)).get();
}

OptionalValue::OptionalValue(const Value* inside, bool writes_null) : inside_(inside) {
  unit = inside_->unit;
  nullable = writes_null;
}

void OptionalValue::read(ObjectReader& reader, const std::string& key, void* value) const {
  inside_->read(reader, key, emplaced(value));
}

void OptionalValue::write(Json& json, const std::string& key, const void* value) const {
  const void* inside = held(value);
  if (inside != nullptr) {
    inside_->write(json, key, inside);
  } else if (nullable) {
    json[key] = nullptr;
  }
}

Json OptionalValue::schema() const {
  return nullable ? or_null(inside_->schema()) : inside_->schema();
}

void ChoiceValue::read(ObjectReader& reader, const std::string& key, void* value) const {
  set(value, read_choice(reader, key, names_));
}

void ChoiceValue::write(Json& json, const std::string& key, const void* value) const {
  const std::size_t at = place(value);
  json[key] = at < names_.size() ? names_[at] : "?";
}

Json ChoiceValue::schema() const { return choice_schema(names_); }

void NamesValue::read(ObjectReader& reader, const std::string& key, void* value) const {
  clear(value);
  for (const std::string& word : reader.optional_strings(key)) {
    const auto found = std::find(names_.begin(), names_.end(), word);
    if (found == names_.end()) reader.fail_choice(key, word, names_);
    add(value, static_cast<std::size_t>(found - names_.begin()));
  }
}

void NamesValue::write(Json& json, const std::string& key, const void* value) const {
  Json& list = json[key] = Json::array();
  for (const std::size_t place : held(value)) list.push_back(names_[place]);
}

Json NamesValue::schema() const { return {{"type", "array"}, {"items", choice_schema(names_)}}; }

Json or_null(Json schema) {
  const auto type = schema.find("type");
  const bool plain = type != schema.end() && type->is_string() && *type != "object";
  if (!plain || schema.contains("enum")) {
    return {{"oneOf", Json::array({Json{{"type", "null"}}, std::move(schema)})}};
  }
  *type = Json::array({*type, "null"});
  return schema;
}

namespace {

// A list whose values are `is_one`, in words "an array of WHAT".
template <typename M>
Kind<std::vector<M>> list_of(std::string what, std::function<bool(const Json&)> is_one,
                             const Json& items) {
  return {
      {.read =
           [what, is_one](ObjectReader& reader, const std::string& key, std::vector<M>& values) {
             values.clear();
             for (const Json& one : reader.required_array(key)) {
               if (!is_one(one)) reader.fail(key, "must be an array of " + what);
               values.push_back(one.get<M>());
             }
           },
       .write = [](Json& json, const std::string& key,
                   const std::vector<M>& values) { json[key] = values; },
       .schema =
           [items] {
             return Json{{"type", "array"}, {"items", items}};
           }}};
}

bool is_within(const Json& number, NumberRange range) {
  if (!number.is_number()) return false;
  const auto value = number.get<double>();
  return value >= range.low && value <= range.high && !(range.low_excluded && value == range.low);
}

}  // namespace

namespace kind {

Kind<std::vector<int>> integers(IntRange range) {
  return list_of<int>(
      "integers",
      [range](const Json& one) {
        return one.is_number_integer() &&
               is_within(one, {static_cast<double>(range.low), static_cast<double>(range.high)});
      },
      integer_schema(range));
}

Kind<std::vector<double>> numbers(NumberRange range) {
  return list_of<double>(
      "numbers", [range](const Json& one) { return is_within(one, range); }, number_schema(range));
}

Kind<std::vector<std::optional<double>>> numbers_or_null() {
  using Numbers = std::vector<std::optional<double>>;
  return {{.read =
               [](ObjectReader& reader, const std::string& key, Numbers& values) {
                 values.clear();
                 for (const Json& one : reader.required_array(key)) {
                   if (!one.is_number() && !one.is_null()) {
                     reader.fail(key, "must be an array of numbers and null");
                   }
                   values.push_back(one.is_null() ? std::optional<double>() : one.get<double>());
                 }
               },
           .write =
               [](Json& json, const std::string& key, const Numbers& values) {
                 Json& list = json[key] = Json::array();
                 for (const std::optional<double>& one : values) {
                   list.push_back(one ? Json(*one) : Json());
                 }
               },
           .schema =
               [] {
                 return Json{{"type", "array"}, {"items", or_null(number(kAnyNumber).schema())}};
               }}};
}

Kind<std::vector<std::pair<std::string, double>>> numbers_by_name(NumberRange range) {
  using Named = std::vector<std::pair<std::string, double>>;
  return {{.read =
               [range](ObjectReader& reader, const std::string& key, Named& values) {
                 values.clear();
                 for (const auto& [name, value] : reader.member(key).items()) {
                   if (!is_within(value, range)) reader.fail(key, "must be an object of numbers");
                   values.emplace_back(name, value.template get<double>());
                 }
               },
           .write =
               [](Json& json, const std::string& key, const Named& values) {
                 Json& object = json[key] = Json::object();
                 for (const auto& [name, value] : values) object[name] = value;
               },
           .schema =
               [range] {
                 return Json{{"type", "object"}, {"additionalProperties", number(range).schema()}};
               }}};
}

Kind<std::vector<std::vector<double>>> number_rows(std::size_t columns) {
  const Json row{{"type", "array"},
                 {"items", {{"type", "number"}}},
                 {"minItems", columns},
                 {"maxItems", columns}};
  return list_of<std::vector<double>>(
      fmt::format("rows of {} numbers", columns),
      [columns](const Json& one) {
        return one.is_array() && one.size() == columns &&
               std::all_of(one.begin(), one.end(), [](const Json& n) { return n.is_number(); });
      },
      row);
}

Kind<Json> anything() {
  return {
      {.read = [](ObjectReader& reader, const std::string& key,
                  Json& value) { value = reader.member(key); },
       .write = [](Json& json, const std::string& key, const Json& value) { json[key] = value; },
       .schema = [] { return Json::object(); },
       .nullable = true}};
}

Kind<int> integer(IntRange range) {
  return {{.read = [range](ObjectReader& reader, const std::string& key,
                           int& value) { value = reader.required_int(key, range); },
           .write = [](Json& json, const std::string& key, const int& value) { json[key] = value; },
           .schema = [range] { return integer_schema(range); }}};
}

Kind<std::int64_t> wide_integer(IntRange range) {
  return {{.read = [range](ObjectReader& reader, const std::string& key,
                           std::int64_t& value) { value = reader.required_int(key, range); },
           .write = [](Json& json, const std::string& key,
                       const std::int64_t& value) { json[key] = value; },
           .schema = [range] { return integer_schema(range); }}};
}

Kind<std::int64_t> count() {
  return {{.read =
               [](ObjectReader& reader, const std::string& key, std::int64_t& value) {
                 constexpr NumberRange kWhole{.low = 0.0,
                                              .high = 9e15};  // a double counts to there
                 value = static_cast<std::int64_t>(reader.required_number(key, kWhole));
               },
           .write = [](Json& json, const std::string& key,
                       const std::int64_t& value) { json[key] = value; },
           .schema =
               [] {
                 return Json{{"type", "integer"}, {"minimum", 0}};
               }}};
}

Kind<double> number(NumberRange range) {
  return {
      {.read = [range](ObjectReader& reader, const std::string& key,
                       double& value) { value = reader.required_number(key, range); },
       .write = [](Json& json, const std::string& key, const double& value) { json[key] = value; },
       .schema = [range] { return number_schema(range); }}};
}

Kind<double> fraction(bool may_be_none) {
  return number({.low = 0.0, .high = 1.0, .low_excluded = !may_be_none});
}

Kind<std::optional<double>> stated_number() {
  return {{.read = [](ObjectReader& reader, const std::string& key,
                      std::optional<double>& value) { value = reader.stated_number(key); },
           .write = [](Json& json, const std::string& key,
                       const std::optional<double>& value) { json[key] = value.value_or(0.0); },
           .schema = [] { return number_schema({}); }}};
}

Kind<std::optional<double>> optional_number(NumberRange range) { return optional(number(range)); }
Kind<std::optional<int>> optional_integer(IntRange range) { return optional(integer(range)); }

Kind<bool> flag() {
  return {
      {.read = [](ObjectReader& reader, const std::string& key,
                  bool& value) { value = reader.optional_bool(key, value); },
       .write = [](Json& json, const std::string& key, const bool& value) { json[key] = value; },
       .schema =
           [] {
             return Json{{"type", "boolean"}};
           }}};
}

Kind<std::string> text() {
  return {{.read = [](ObjectReader& reader, const std::string& key,
                      std::string& value) { value = reader.required_string(key); },
           .write = [](Json& json, const std::string& key,
                       const std::string& value) { json[key] = value; },
           .schema =
               [] {
                 return Json{{"type", "string"}};
               }}};
}

Kind<std::vector<std::string>> texts() {
  return {{.read = [](ObjectReader& reader, const std::string& key,
                      std::vector<std::string>& value) { value = reader.optional_strings(key); },
           .write = [](Json& json, const std::string& key,
                       const std::vector<std::string>& value) { json[key] = value; },
           .schema =
               [] {
                 return Json{{"type", "array"}, {"items", {{"type", "string"}}}};
               }}};
}

Kind<double> amount_in(const Unit& unit, NumberRange range) {
  return {{.read = [unit, range](ObjectReader& reader, const std::string& key,
                                 double& value) { value = read_amount(reader, key, unit, range); },
           .write = [unit](Json& json, const std::string& key,
                           const double& value) { write_amount(json, key, value, unit); },
           .schema = [range] { return number_schema(range); },
           .unit = unit}};
}

}  // namespace kind

void fail_point(const ObjectReader& reader, const std::string& key, std::size_t index,
                const std::string& what) {
  throw InputError(reader.file(), fmt::format("{}/{}", reader.pointer_to(key), index), what);
}

std::vector<std::vector<double>> read_points(ObjectReader& reader, const std::string& key,
                                             const PointTable& table) {
  std::vector<std::vector<double>> points;
  for (const Json& row : reader.required_array(key)) {
    const std::size_t index = points.size();
    bool good = row.is_array() && row.size() == table.columns;
    for (std::size_t i = 0; good && i < table.columns; ++i) good = row[i].is_number();
    if (!good) {
      fail_point(reader, key, index, fmt::format("is {}; must be [{}]", row.dump(), table.names));
    }
    points.push_back(row.get<std::vector<double>>());
    for (std::size_t i = 0; i < table.columns; ++i) {
      const double value = points.back()[i];
      const bool positive = i < table.positive;
      if (std::isfinite(value) && (positive ? value > 0.0 : value >= 0.0)) continue;
      fail_point(reader, key, index,
                 fmt::format("is {}; of [{}] number {} must be {}", row.dump(), table.names, i + 1,
                             positive ? "above 0" : "0 or more"));
    }
  }
  return points;
}

Json points_schema(const PointTable& table) {
  const Json row{{"type", "array"},
                 {"items", {{"type", "number"}, {"minimum", 0}}},
                 {"minItems", table.columns},
                 {"maxItems", table.columns},
                 {"description", table.names}};
  return {{"type", "array"}, {"items", row}};
}

}  // namespace meshwright
