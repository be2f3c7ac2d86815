// SPDX-License-Identifier: Apache-2.0
// One row of the table of serving points while a result is read, and the values of the result with
// their place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/tables/csv.h"
#include "sim/record/json.h"

namespace meshwright::interop {

// An empty table with every column that a reader of results fills.
CsvTable empty_point_table(const std::string& file);

// Fills the last row of a table.
class ResultRow {
 public:
  // Adds the row. `line` is its line in the file.
  ResultRow(CsvTable& table, int line);

  // Empty text and absent numbers leave the cell as it is.
  void set(std::string_view column, const std::string& text);
  void set(std::string_view column, std::optional<double> number);
  // Names something that the file does not say.
  void assume(const std::string& what);
  [[nodiscard]] const std::string& cell(std::string_view column) const;
  // Tells whether the table has a column of this name.
  [[nodiscard]] bool has_column(std::string_view column) const;

 private:
  CsvTable* table_;
  std::size_t row_;
};

// An object of a result. Absent keys and null are not stated; a wrong kind is an InputError.
class ResultObject {
 public:
  ResultObject(const Json& json, std::string file, std::string pointer)
      : json_(&json), file_(std::move(file)), pointer_(std::move(pointer)) {}

  [[nodiscard]] bool has(const char* key) const;
  // A number, or its text; "inf" is infinity. At least 0.
  [[nodiscard]] std::optional<double> number(const char* key) const;
  // Text; of a number its digits, of a flag "yes" or "no".
  [[nodiscard]] std::string text(const char* key) const;
  // True, or the words true, yes and 1.
  [[nodiscard]] bool flag(const char* key) const;
  // An object below this one; empty where there is none.
  [[nodiscard]] std::optional<ResultObject> object(const char* key) const;
  // Numbers of a list; empty where there is none.
  [[nodiscard]] std::vector<double> numbers(const char* key) const;
  [[nodiscard]] const Json& json() const { return *json_; }

 private:
  [[nodiscard]] const Json* find(const char* key) const;
  [[noreturn]] void fail(const char* key, const std::string& allowed) const;

  const Json* json_;
  std::string file_, pointer_;
};

// The cell "precision" of an engine's name for a quantization; empty: it has none, or it is not
// known.
std::string precision_of_quantization(const std::string& quantization);

// How requests arrived: `users` at most, `rate` requests a second (infinity: as fast as they go),
// `requests` in all, `most_running` of them at once as the client saw it.
struct ResultLoad {
  std::optional<double> users{}, rate{}, requests{}, most_running{}, burstiness{};
};
void set_load(ResultRow& row, const ResultLoad& load);

}  // namespace meshwright::interop
