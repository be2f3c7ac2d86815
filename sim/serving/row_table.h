// SPDX-License-Identifier: Apache-2.0
// A time as a function of the rows of a step, tabled once and looked up in some nanoseconds.
#pragma once

#include <array>
#include <cstddef>

namespace meshwright {

// Where a number of rows lies between the points of a RowTable: 1, 1.5, 2, 3, 4, 6, ..., each power
// of two and half of the way to the next.
struct RowPosition {
  int point = 0;
  double share = 0.0;  // of the way to the next point; above 1 beyond the last
};
RowPosition row_position(double rows);

// Seconds as a function of rows, straight between the points.
class RowTable {
 public:
  static constexpr int kPoints = 33;  // 1 to 65,536
  static double rows_of(int point);
  RowTable() = default;
  explicit RowTable(const std::array<double, kPoints>& values) : values_(values) {}
  [[nodiscard]] double at(const RowPosition& position) const {
    const auto i = static_cast<std::size_t>(position.point);
    return values_[i] + position.share * (values_[i + 1] - values_[i]);
  }
  [[nodiscard]] double at(double rows) const { return at(row_position(rows)); }

 private:
  std::array<double, kPoints> values_{};
};

}  // namespace meshwright
