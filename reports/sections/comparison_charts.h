// SPDX-License-Identifier: Apache-2.0
// Differences of compared reports as lying bars.
#pragma once

#include <string>

#include "reports/records/comparison.h"

namespace meshwright::reports {

// Change of each quantity of each report against the first, in percent, one panel a report. Empty:
// no quantity differs.
std::string differences_chart(const Comparison& comparison);

}  // namespace meshwright::reports
