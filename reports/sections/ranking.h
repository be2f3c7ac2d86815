// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "reports/records/report.h"

namespace meshwright::reports {

// Share of the step in terms of that provenance, 0 to 1.
double share_of_step(const Estimate& estimate, Provenance provenance);

// The texts of a layout's row in the ranking, column by column; the viewer shows the same.
std::array<std::string, 11> ranking_texts(const RankedLayout& layout);

}  // namespace meshwright::reports
