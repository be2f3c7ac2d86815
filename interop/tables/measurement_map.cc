// SPDX-License-Identifier: Apache-2.0
#include "interop/tables/measurement_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/record/reader.h"

namespace meshwright::interop {
namespace {

using Pointer = Json::json_pointer;

constexpr double kLargestExactInteger = 9007199254740992.0;  // 2^53

// Rule that reads one field of a run from a row.
struct Field {
  Pointer target;
  std::string pointer;
  std::vector<std::size_t> columns;  // several: their cells joined by a blank
  std::optional<double> scale;
  std::optional<Json> values;
};

std::size_t column_index(const std::string& name, const CsvTable& table,
                         const std::string& map_file, const std::string& at) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found == table.columns.end()) {
    throw InputError(map_file, at, fmt::format("{} has no column \"{}\"", table.file, name),
                     did_you_mean(name, table.columns));
  }
  return static_cast<std::size_t>(found - table.columns.begin());
}

Pointer parse_pointer(const std::string& text, const std::string& map_file, const std::string& at) {
  constexpr std::size_t kLongestPointer = 200;
  try {
    Pointer pointer(text);
    if (!pointer.empty() && text.size() <= kLongestPointer) return pointer;
  } catch (const Json::exception&) {
  }
  throw InputError(map_file, at,
                   fmt::format("must be a JSON pointer into a run such as "
                               "/layout/tensor_parallel_size (got \"{}\")",
                               text));
}

Field read_field(const std::string& target, const Json& source, const CsvTable& table,
                 const std::string& map_file) {
  const std::string at = "/columns/" + target;
  Field field{parse_pointer(target, map_file, at), target, {}, {}, {}};
  if (source.is_string()) {
    field.columns.push_back(column_index(source.get<std::string>(), table, map_file, at));
    return field;
  }
  ObjectReader reader(source, map_file, at);
  if (reader.has("join")) {
    for (const Json& name : reader.required_array("join")) {
      if (!name.is_string()) reader.fail("join", "must hold names of columns");
      field.columns.push_back(column_index(name.get<std::string>(), table, map_file, at));
    }
    if (field.columns.empty()) reader.fail("join", "must name a column");
  } else {
    field.columns.push_back(column_index(reader.required_string("column"), table, map_file, at));
  }
  if (reader.has("scale")) field.scale = reader.required_number("scale", {-1e300, 1e300});
  if (reader.has("values")) {
    const Json& values = reader.member("values");
    if (!values.is_object()) reader.fail("values", "must map cells to values");
    field.values = values;
  }
  reader.finish();
  return field;
}

std::optional<double> number_in_cell(const std::string& cell) {
  double value = 0;
  const char* const end = cell.data() + cell.size();
  const auto [stopped, error] = std::from_chars(cell.data(), end, value);
  if (error != std::errc() || stopped != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

Json number_json(double value) {
  if (value == std::floor(value) && std::abs(value) < kLargestExactInteger)
    return static_cast<std::int64_t>(value);
  return value;
}

Json unscaled_value(const std::string& cell) {
  if (cell == "true" || cell == "True") return true;
  if (cell == "false" || cell == "False") return false;
  const std::optional<double> number = number_in_cell(cell);
  return number ? number_json(*number) : Json(cell);
}

std::string joined_cells(const Field& field, const std::vector<std::string>& row) {
  std::string text;
  for (const std::size_t column : field.columns) {
    if (!text.empty() && !row[column].empty()) text += ' ';
    text += row[column];
  }
  return text;
}

// Nothing for an empty cell.
std::optional<Json> value_of(const Field& field, const std::vector<std::string>& row,
                             const std::string& where) {
  const std::string cell = joined_cells(field, row);
  if (cell.empty()) return std::nullopt;
  if (field.values) {
    if (field.values->contains(cell)) return (*field.values)[cell];
    throw InputError(where, field.pointer, fmt::format("\"{}\" is none of the map's values", cell));
  }
  if (!field.scale) return unscaled_value(cell);
  const std::optional<double> number = number_in_cell(cell);
  if (!number)
    throw InputError(where, field.pointer, fmt::format("must be a number (got \"{}\")", cell));
  return number_json(*number * *field.scale);
}

// The member of a run at `pointer`, made if it is not there. All of a run above its values is
// objects: a number in a pointer is a key, too.
Json& member_at(Json& run, const Pointer& pointer, const std::string& where) {
  if (pointer.empty()) return run;
  Json& parent = member_at(run, pointer.parent_pointer(), where);
  if (parent.is_null()) parent = Json::object();
  if (!parent.is_object()) {
    throw InputError(where, pointer.to_string(), "stands below a value that is no object");
  }
  return parent[pointer.back()];
}

// A text field stays one where its cells look like numbers.
void keep_as_text(Json& run, const char* key) {
  if (run.contains(key) && !run[key].is_string()) run[key] = run[key].dump();
}

void complete(Json& run, std::size_t index) {
  if (!run.contains("id")) run["id"] = std::to_string(index);
  if (!run.contains("group")) {
    const Json model = run.value("model", Json());
    run["group"] =
        fmt::format("{} on {} GPUs", model.is_string() ? model.get<std::string>() : model.dump(),
                    run.value("gpus", Json()).dump());
  }
  keep_as_text(run, "id");
  keep_as_text(run, "group");
  if (!run.contains("measured")) run["measured"] = Json::object();
  Json& measured = run["measured"];
  if (measured.is_object() && !measured.contains("status")) measured["status"] = "ok";
}

// Builds a run from the cells of a row. Errors of the map itself are not reported for the row.
Json run_of_row(const std::vector<Field>& fields, const Json& common,
                const std::vector<std::optional<Json>>& values, const std::string& map_file) {
  Json run = common;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (values[i]) member_at(run, fields[i].target, map_file) = *values[i];
  }
  return run;
}

std::vector<std::optional<Json>> values_of_row(const std::vector<Field>& fields,
                                               const CsvTable& table, std::size_t row,
                                               const std::string& where) {
  const std::vector<std::string>& cells = table.rows[row];
  if (cells.size() != table.columns.size()) {
    throw InputError(where, "",
                     fmt::format("line {}: {} cells below a header of {}", table.lines[row],
                                 cells.size(), table.columns.size()));
  }
  std::vector<std::optional<Json>> values;
  for (const Field& field : fields) values.push_back(value_of(field, cells, where));
  return values;
}

// The cell of /id where it can be read, else the row's number.
std::string id_of_row(const std::vector<Field>& fields, const CsvTable& table, std::size_t row) {
  const std::vector<std::string>& cells = table.rows[row];
  for (const Field& field : fields) {
    if (field.pointer != "/id" || cells.size() != table.columns.size()) continue;
    if (std::string id = joined_cells(field, cells); !id.empty()) return id;
  }
  return std::to_string(row + 1);
}

}  // namespace

ConvertedTable measurements_from_csv(const CsvTable& table, const std::string& table_file,
                                     const Json& map, const std::string& map_file) {
  ObjectReader reader(map, map_file);
  Json set{{"schema", "meshwright.measurements/1"},
           {"name", reader.required_string("name")},
           {"source", reader.optional_string("source", table_file)},
           {"assumed", reader.optional_string("assumed", "")}};
  Json common = Json::object();
  if (reader.has("constants")) {
    for (const auto& [target, value] : reader.member("constants").items())
      member_at(common, parse_pointer(target, map_file, "/constants/" + target), map_file) = value;
  }
  std::vector<Field> fields;
  for (const auto& [target, source] : reader.member("columns").items())
    fields.push_back(read_field(target, source, table, map_file));
  reader.finish();

  ConvertedTable result{std::move(set), {}};
  Json left_out = Json::array();
  std::optional<InputError> first;
  result.set["runs"] = Json::array();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<std::optional<Json>> values;
    const std::string where = fmt::format("{} (row {})", table_file, i + 1);
    const std::string place = fmt::format("row {}, line {}", i + 1, table.lines[i]);
    try {
      values = values_of_row(fields, table, i, where);
    } catch (const InputError& error) {
      if (!first) first = error;
      left_out.push_back({{"file", table_file},
                          {"place", place},
                          {"id", id_of_row(fields, table, i)},
                          {"reason", std::string(error.what()).substr(where.size() + 2)}});
      continue;
    }
    Json run = run_of_row(fields, common, values, map_file);
    complete(run, i + 1);
    result.set["runs"].push_back(std::move(run));
    result.places.push_back(place);
  }
  if (first && result.places.empty()) throw *first;
  if (!left_out.empty()) result.set["left_out"] = std::move(left_out);
  return result;
}

}  // namespace meshwright::interop
