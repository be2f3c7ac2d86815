// SPDX-License-Identifier: Apache-2.0
// Keys and values of the positions that one layer has seen: (groups of the rank, batch, capacity,
// width) each. 2 * groups * width numbers a position and sequence.
#pragma once

#include <cstdint>

#include "calibrate/trial/ranks/arena.h"

namespace meshwright::calibrate {

struct KeyValueCache {
  Tensor keys, values;
  std::int64_t capacity = 0;  // positions
};

}  // namespace meshwright::calibrate
