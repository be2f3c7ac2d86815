// SPDX-License-Identifier: Apache-2.0
// nccl-tests' times, whatever file they stood in, as points: one a size.
#pragma once

#include <string>
#include <vector>

#include "calibrate/imported/imported.h"
#include "sim/hardware/placement.h"

namespace meshwright::calibrate {

// A time, and in which type and with which operation it was taken.
struct TimedRow {
  Collective collective = Collective::all_reduce;
  Placement place;
  double size = 0.0, us = 0.0;  // bytes as nccl-tests counts them, microseconds
  std::string type{}, redop{};
};

// Adds the points of these rows, and notes where several types were measured, or a rate falls off.
void add_nccl_points(const std::vector<TimedRow>& rows, Imported& result);

}  // namespace meshwright::calibrate
