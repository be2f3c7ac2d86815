// SPDX-License-Identifier: Apache-2.0
// Kinds of values in a record: how a value of one type is read, written and described. A row of a
// record (record.h) joins a kind with a member and a key.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"
#include "sim/record/reader.h"

namespace meshwright {

// The unit in which people write an amount: its suffix on the key, how many base units it holds
// (or, for times, how many of it a base unit holds), and the base unit's suffix.
struct Unit {
  std::string_view suffix;
  double scale;
  std::string_view base_suffix;
};
inline constexpr Unit kGibibytes{"_gib", 1073741824.0, "_bytes"};
inline constexpr Unit kKibibytes{"_kib", 1024.0, "_bytes"};
inline constexpr Unit kGigabytesPerSecond{"_gb_per_s", 1e9, "_bytes_per_s"};
inline constexpr Unit kTeraflops{"_tflops", 1e12, "_flops_per_s"};
inline constexpr Unit kMicroseconds{"_us", 1e6, "_seconds"};
inline constexpr Unit kNanoseconds{"_ns", 1e9, "_seconds"};

template <typename M>
struct Kind {
  // Reads the key's value over `value`; the key is there. Throws InputError.
  std::function<void(ObjectReader& reader, const std::string& key, M& value)> read;
  std::function<void(Json& json, const std::string& key, const M& value)> write;
  // The JSON Schema of the value.
  std::function<Json()> schema;
  // An amount's unit: the key gets its suffix, or that of the base unit.
  std::optional<Unit> unit{};
  // A file may say null; then the value stays as it is.
  bool nullable = false;
};

// The place of a value's name among `names`. Throws InputError that names the nearest.
std::size_t read_choice(ObjectReader& reader, const std::string& key,
                        const std::vector<std::string_view>& names);
Json choice_schema(const std::vector<std::string_view>& names);
// A value, or null.
Json or_null(Json schema);

template <typename Names>
std::vector<std::string_view> words_of_names(const Names& names) {
  std::vector<std::string_view> words;
  for (const auto& entry : names) words.push_back(entry.name);
  return words;
}

inline constexpr NumberRange kAnyNumber{.low = -1e300};
inline constexpr NumberRange kNotNegative{};
inline constexpr NumberRange kAboveZero{.low = 0.0, .low_excluded = true};

namespace kind {

Kind<int> integer(IntRange range = {});
Kind<std::int64_t> wide_integer(IntRange range = {});
// A count: 0 or more, beyond any int.
Kind<std::int64_t> count();
Kind<double> number(NumberRange range = {});
// A part of a whole: above 0 (or 0 with `may_be_none`) and at most 1.
Kind<double> fraction(bool may_be_none = false);
// 0 in a file says that the number is not stated.
Kind<std::optional<double>> stated_number();
Kind<std::optional<double>> optional_number(NumberRange range = {});
Kind<std::optional<int>> optional_integer(IntRange range = {});
Kind<bool> flag();
Kind<std::string> text();
Kind<std::vector<std::string>> texts();
Kind<std::vector<int>> integers(IntRange range = {});
Kind<std::vector<double>> numbers(NumberRange range = kAnyNumber);
// Each a number or null.
Kind<std::vector<std::optional<double>>> numbers_or_null();
// An object with a key per name, in their order.
Kind<std::vector<std::pair<std::string, double>>> numbers_by_name(NumberRange range = kAnyNumber);
// Rows of numbers, each as long as `columns` says.
Kind<std::vector<std::vector<double>>> number_rows(std::size_t columns);
// Anything at all: what other programs or other records say.
Kind<Json> anything();

// An amount is written in the unit of its friendly key (rate_gb_per_s, latency_us) when that reads
// back to the same bits, else in base units (rate_bytes_per_s, latency_seconds). Both are read, so
// that a measured profile reloads exactly.
Kind<double> amount_in(const Unit& unit, NumberRange range);
template <typename Q>
Kind<Q> amount(const Unit& unit, NumberRange range = kNotNegative) {
  const Kind<double> base = amount_in(unit, range);
  return {.read =
              [base](ObjectReader& reader, const std::string& key, Q& value) {
                double read = value.value();
                base.read(reader, key, read);
                value = Q(read);
              },
          .write = [base](Json& json, const std::string& key,
                          const Q& value) { base.write(json, key, value.value()); },
          .schema = base.schema,
          .unit = unit};
}
// An amount in base units under a key that says so ("amount_bytes").
template <typename Q>
Kind<Q> base_amount(NumberRange range = kNotNegative) {
  return {.read = [range](ObjectReader& reader, const std::string& key,
                          Q& value) { value = Q(reader.required_number(key, range)); },
          .write = [](Json& json, const std::string& key,
                      const Q& value) { json[key] = value.value(); },
          .schema = number(range).schema};
}

// One of a table's names (enum_names.h).
template <typename Enum, std::size_t N>
Kind<Enum> choice(const std::array<EnumName<Enum>, N>& names) {
  return {.read =
              [names](ObjectReader& reader, const std::string& key, Enum& value) {
                value = names[read_choice(reader, key, words_of_names(names))].value;
              },
          .write = [names](Json& json, const std::string& key,
                           const Enum& value) { json[key] = name_in(names, value); },
          .schema = [names] { return choice_schema(words_of_names(names)); }};
}

// A kind's value or none; none is not written.
template <typename M>
Kind<std::optional<M>> optional(const Kind<M>& kind) {
  return {.read =
              [kind](ObjectReader& reader, const std::string& key, std::optional<M>& value) {
                M read{};
                kind.read(reader, key, read);
                value = std::move(read);
              },
          .write =
              [kind](Json& json, const std::string& key, const std::optional<M>& value) {
                if (value) kind.write(json, key, *value);
              },
          .schema = kind.schema,
          .unit = kind.unit};
}

// A kind's value or none; none is written as null.
template <typename M>
Kind<std::optional<M>> nullable(const Kind<M>& kind) {
  Kind<std::optional<M>> made = optional(kind);
  made.write = [kind](Json& json, const std::string& key, const std::optional<M>& value) {
    if (value) return kind.write(json, key, *value);
    json[key] = nullptr;
  };
  made.schema = [kind] { return or_null(kind.schema()); };
  made.nullable = true;
  return made;
}

// An amount in base units for each name of a table, as an object.
template <typename Q, typename Enum, std::size_t N>
Kind<std::array<Q, N>> amount_by_name(const std::array<EnumName<Enum>, N>& names) {
  return {.read =
              [names](ObjectReader& reader, const std::string& key, std::array<Q, N>& values) {
                ObjectReader inside = reader.required_object(key);
                for (const auto& [which, name] : names) {
                  values[static_cast<std::size_t>(which)] = Q(inside.required_number(name));
                }
                inside.finish();
              },
          .write =
              [names](Json& json, const std::string& key, const std::array<Q, N>& values) {
                Json& object = json[key] = Json::object();
                for (const auto& [which, name] : names) {
                  object[std::string(name)] = values[static_cast<std::size_t>(which)].value();
                }
              },
          .schema =
              [names] {
                Json properties = Json::object();
                for (const auto& entry : names) {
                  properties[std::string(entry.name)] = number().schema();
                }
                return Json{{"type", "object"},
                            {"required", words_of_names(names)},
                            {"properties", properties},
                            {"additionalProperties", false}};
              }};
}

// A number for each name of a table, as an object. Names that are not there keep their number.
template <typename Enum, std::size_t N>
Kind<std::array<int, N>> integer_by_name(const std::array<EnumName<Enum>, N>& names,
                                         IntRange range) {
  return {
      .read =
          [names, range](ObjectReader& reader, const std::string& key, std::array<int, N>& values) {
            ObjectReader inside = reader.required_object(key);
            for (const auto& [which, name] : names) {
              int& value = values[static_cast<std::size_t>(which)];
              value = inside.optional_int(name, value, range);
            }
            inside.finish();
          },
      .write =
          [names](Json& json, const std::string& key, const std::array<int, N>& values) {
            Json& object = json[key] = Json::object();
            for (const auto& [which, name] : names) {
              object[std::string(name)] = values[static_cast<std::size_t>(which)];
            }
          },
      .schema =
          [names, range] {
            Json properties = Json::object();
            for (const auto& entry : names) {
              properties[std::string(entry.name)] = integer(range).schema();
            }
            return Json{
                {"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
          }};
}

// The names of a table that hold, as an array.
template <typename Enum, std::size_t N>
Kind<std::array<bool, N>> set_of_names(const std::array<EnumName<Enum>, N>& names) {
  return {.read =
              [names](ObjectReader& reader, const std::string& key, std::array<bool, N>& values) {
                values.fill(false);
                for (const std::string& word : reader.optional_strings(key)) {
                  const auto found =
                      std::find_if(names.begin(), names.end(),
                                   [&](const auto& entry) { return entry.name == word; });
                  if (found == names.end()) {
                    reader.fail_choice(key, word, words_of_names(names));
                  }
                  values[static_cast<std::size_t>(found->value)] = true;
                }
              },
          .write =
              [names](Json& json, const std::string& key, const std::array<bool, N>& values) {
                Json& list = json[key] = Json::array();
                for (const auto& [which, name] : names) {
                  if (values[static_cast<std::size_t>(which)]) list.push_back(name);
                }
              },
          .schema =
              [names] {
                return Json{{"type", "array"}, {"items", choice_schema(words_of_names(names))}};
              }};
}

}  // namespace kind

// Rows of numbers ("points") as arrays: `columns` numbers, the first `positive` of them above zero,
// the others 0 or more.
struct PointTable {
  std::size_t columns = 0, positive = 0;
  std::string_view names;  // "bytes, seconds, relative spread"
};
std::vector<std::vector<double>> read_points(ObjectReader& reader, const std::string& key,
                                             const PointTable& table);
[[noreturn]] void fail_point(const ObjectReader& reader, const std::string& key, std::size_t index,
                             const std::string& what);
Json points_schema(const PointTable& table);

}  // namespace meshwright
