// SPDX-License-Identifier: Apache-2.0
// What meshwright trial observed of a plan's layouts.
#pragma once

#include <string>
#include <vector>

#include "reports/records/origin.h"
#include "sim/record/record.h"
#include "sim/step/observation.h"

namespace meshwright::reports {

struct Trials {
  Origin origin{};
  std::string plan{};  // its file
  std::vector<Observation> observations{};
};
const Record<Trials>& trials_record();

}  // namespace meshwright::reports
