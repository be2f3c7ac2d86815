// SPDX-License-Identifier: Apache-2.0
// Cosines and sines of rotary positions (Su 2021, arXiv 2104.09864, section 3.4.2): pair j of a
// head of width w turns by position * 10000^(-2j/w) at each position.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/trial/ranks/arena.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

// Columns of a head that are rotated.
std::int64_t rotary_width(const Model& model);
// 0, 1, ... count - 1.
std::vector<std::int64_t> first_positions(std::int64_t count);
// (positions, width): of a position its width / 2 cosines, then its sines.
Tensor rotary_table(Arena& arena, Compute& compute, const std::vector<std::int64_t>& positions,
                    std::int64_t width);

}  // namespace meshwright::calibrate
