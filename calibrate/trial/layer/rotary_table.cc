// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/rotary_table.h"

#include <cmath>
#include <numeric>

namespace meshwright::calibrate {

std::int64_t rotary_width(const Model& model) {
  return model.mla ? model.mla->qk_pos_emb_head_dim : model.kv_channels;
}

std::vector<std::int64_t> first_positions(std::int64_t count) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  std::iota(positions.begin(), positions.end(), std::int64_t{0});
  return positions;
}

Tensor rotary_table(Arena& arena, Compute& compute, const std::vector<std::int64_t>& positions,
                    std::int64_t width) {
  constexpr double kBase = 10000.0;  // any value takes the same time
  const std::int64_t half = width / 2;
  const auto count = static_cast<std::int64_t>(positions.size());
  std::vector<float> values(static_cast<std::size_t>(count * width));
  for (std::int64_t s = 0; s < count; ++s) {
    const auto position = static_cast<double>(positions[static_cast<std::size_t>(s)]);
    for (std::int64_t j = 0; j < half; ++j) {
      const double angle =
          position * std::pow(kBase, -2.0 * static_cast<double>(j) / static_cast<double>(width));
      values[static_cast<std::size_t>(s * width + j)] = static_cast<float>(std::cos(angle));
      values[static_cast<std::size_t>(s * width + half + j)] = static_cast<float>(std::sin(angle));
    }
  }
  Tensor table(arena, count * width);
  compute.upload(table.data(), values.data(), table.size());
  compute.synchronize();
  return table;
}

}  // namespace meshwright::calibrate
