// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/rotary_table.h"

#include <cmath>
#include <vector>

namespace meshwright::calibrate {

Tensor rotary_table(Arena& arena, Compute& compute, std::int64_t positions, std::int64_t width) {
  constexpr double kBase = 10000.0;  // what it is changes no time
  const std::int64_t half = width / 2;
  std::vector<float> values(static_cast<std::size_t>(positions * width));
  for (std::int64_t s = 0; s < positions; ++s) {
    for (std::int64_t j = 0; j < half; ++j) {
      const double angle = static_cast<double>(s) * std::pow(kBase, -2.0 * static_cast<double>(j) /
                                                                        static_cast<double>(width));
      values[static_cast<std::size_t>(s * width + j)] = static_cast<float>(std::cos(angle));
      values[static_cast<std::size_t>(s * width + half + j)] = static_cast<float>(std::sin(angle));
    }
  }
  Tensor table(arena, positions * width);
  compute.upload(table.data(), values.data(), table.size());
  compute.synchronize();
  return table;
}

}  // namespace meshwright::calibrate
