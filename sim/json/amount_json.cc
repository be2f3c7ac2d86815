// SPDX-License-Identifier: Apache-2.0
#include "sim/json/amount_json.h"

#include <fmt/format.h>

#include <cmath>

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

}  // namespace

void write_amount(Json& json, std::string_view name, double value, const Unit& unit) {
  const double friendly = from_base(value, unit);
  for (const double candidate :
       {friendly, std::nextafter(friendly, 0.0), std::nextafter(friendly, HUGE_VAL)}) {
    if (to_base(candidate, unit) != value) continue;
    json[key_of(name, unit.suffix)] = candidate;
    return;
  }
  json[key_of(name, unit.base_suffix)] = value;
}

double read_amount(ObjectReader& reader, std::string_view name, const Unit& unit,
                   double default_value, NumberRange range) {
  const std::string friendly = key_of(name, unit.suffix), base = key_of(name, unit.base_suffix);
  if (reader.has(friendly) && reader.has(base)) {
    reader.fail(base, fmt::format("is given beside {}", friendly), "keep one of the two");
  }
  if (reader.has(friendly)) return to_base(reader.required_number(friendly, range), unit);
  return reader.optional_number(base, default_value, range);
}
double require_amount(ObjectReader& reader, std::string_view name, const Unit& unit) {
  const NumberRange positive{.low = 0.0, .low_excluded = true};
  const std::string friendly = key_of(name, unit.suffix), base = key_of(name, unit.base_suffix);
  if (!reader.has(base)) return to_base(reader.required_number(friendly, positive), unit);
  return read_amount(reader, name, unit, 0.0, positive);
}

void check_schema(ObjectReader& reader, std::string_view schema) {
  const std::string given = reader.required_string("schema");
  if (given == schema) return;
  reader.fail("schema", fmt::format("is \"{}\"; this version reads \"{}\"", given, schema));
}

void fail_point(const ObjectReader& owner, std::size_t index, const std::string& what) {
  throw InputError(owner.file(), fmt::format("{}/{}", owner.pointer_to("points"), index), what);
}

std::vector<double> read_point(const ObjectReader& owner, const Json& row, std::size_t index,
                               std::size_t columns, std::size_t positive, std::string_view names) {
  bool good = row.is_array() && row.size() == columns;
  for (std::size_t i = 0; good && i < columns; ++i) good = row[i].is_number();
  if (!good) fail_point(owner, index, fmt::format("is {}; must be [{}]", row.dump(), names));
  auto values = row.get<std::vector<double>>();
  for (std::size_t i = 0; i < columns; ++i) {
    const bool allowed =
        std::isfinite(values[i]) && (i < positive ? values[i] > 0.0 : values[i] >= 0.0);
    if (!allowed) {
      fail_point(owner, index,
                 fmt::format("is {}; of [{}] number {} must be {}", row.dump(), names, i + 1,
                             i < positive ? "above 0" : "0 or more"));
    }
  }
  return values;
}

}  // namespace meshwright
