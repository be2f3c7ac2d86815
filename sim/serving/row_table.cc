// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/row_table.h"

#include <cmath>

namespace meshwright {

double RowTable::rows_of(int point) {
  const double power = std::ldexp(1.0, point / 2);
  return point % 2 == 0 ? power : 1.5 * power;
}

RowPosition row_position(double rows) {
  if (rows <= 1.0) return {};
  int exponent = 0;
  const double mantissa = 2.0 * std::frexp(rows, &exponent);  // 1 to 2
  const int half = mantissa >= 1.5 ? 1 : 0;
  int point = 2 * (exponent - 1) + half;
  double share = (mantissa - 1.0 - 0.5 * half) * 2.0;
  if (point > RowTable::kPoints - 2) {
    point = RowTable::kPoints - 2;
    const double low = RowTable::rows_of(point);
    share = (rows - low) / (RowTable::rows_of(point + 1) - low);
  }
  return {point, share};
}

}  // namespace meshwright
