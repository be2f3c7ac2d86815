// SPDX-License-Identifier: Apache-2.0
// One row of a table of serving points, with what the user states of all rows in place of its own
// cells.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "app/files/serving_points.h"

namespace meshwright::app {

// Why a row is left out; never leaves serving_points.cc.
struct UnusablePoint {
  std::string reason;
};

// The column "engine" as engines' files name it.
inline std::string engine_kind_of(const std::string& engine) {
  return engine == "trtllm" ? "tensorrt-llm" : engine;
}

class PointRow {
 public:
  PointRow(const interop::CsvTable& table, std::size_t index, const StatedService& stated)
      : table_(table), index_(index), stated_(stated) {}

  [[nodiscard]] std::string text(const std::string& column) const {
    if (const auto said = stated_.cells.find(column); said != stated_.cells.end()) {
      return said->second;
    }
    const auto place = std::find(table_.columns.begin(), table_.columns.end(), column);
    const auto& cells = table_.rows[index_];
    const auto at = static_cast<std::size_t>(place - table_.columns.begin());
    if (place != table_.columns.end() && at < cells.size() && !cells[at].empty()) return cells[at];
    const auto other = stated_.otherwise.find(column);
    return other == stated_.otherwise.end() ? "" : other->second;
  }
  [[nodiscard]] std::optional<double> number(const std::string& column) const {
    const std::string cell = text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (cell.empty() || error != std::errc() || end != cell.data() + cell.size() ||
        !std::isfinite(value) || value < 0) {
      return std::nullopt;
    }
    return value;
  }
  [[nodiscard]] int whole(const std::string& column, int otherwise) const {
    const auto value = number(column);
    return value && *value >= 1 && *value < 1e8 ? static_cast<int>(std::lround(*value)) : otherwise;
  }

 private:
  const interop::CsvTable& table_;
  std::size_t index_;
  const StatedService& stated_;
};

}  // namespace meshwright::app
