// SPDX-License-Identifier: Apache-2.0
// Amounts with a unit, and compact tables of measured points, in JSON.
//
// An amount is written in the unit of its friendly key (rate_gb_per_s, latency_us) when that reads
// back to the same bits, else in base units (rate_bytes_per_s, latency_seconds); both are read. So
// a measured profile reloads exactly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/json/reader.h"
#include "sim/json/records.h"

namespace meshwright {

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

void write_amount(Json& json, std::string_view name, double value, const Unit& unit);
// In base units; `default_value` when neither key is there.
double read_amount(ObjectReader& reader, std::string_view name, const Unit& unit,
                   double default_value, NumberRange range = {});
// Required, and more than zero.
double require_amount(ObjectReader& reader, std::string_view name, const Unit& unit);

void check_schema(ObjectReader& reader, std::string_view schema);

[[noreturn]] void fail_point(const ObjectReader& owner, std::size_t index, const std::string& what);

// Row `index` of the member "points": `columns` numbers, the first `positive` of them above zero.
std::vector<double> read_point(const ObjectReader& owner, const Json& row, std::size_t index,
                               std::size_t columns, std::size_t positive, std::string_view names);

// Each element of an optional array of objects.
template <typename Record>
std::vector<Record> read_each(ObjectReader& reader, std::string_view key,
                              Record (*read)(ObjectReader)) {
  std::vector<Record> records;
  if (!reader.has(key)) return records;
  const Json& array = reader.required_array(key);
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string pointer = reader.pointer_to(key) + "/" + std::to_string(i);
    records.push_back(read(ObjectReader(array[i], reader.file(), pointer)));
  }
  return records;
}

template <typename Record>
void write_each(Json& json, std::string_view key, const std::vector<Record>& records,
                Json (*write)(const Record&)) {
  if (records.empty()) return;
  Json& array = json[std::string(key)] = Json::array();
  for (const Record& record : records) array.push_back(write(record));
}

}  // namespace meshwright
