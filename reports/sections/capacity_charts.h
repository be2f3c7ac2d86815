// SPDX-License-Identifier: Apache-2.0
// Charts of a run's time: where the elapsed days go, and goodput on other GPU counts.
#pragma once

#include <string>

#include "reports/records/capacity.h"

namespace meshwright::reports {

// The parts of the elapsed time of the row in front, one above the other, with P10-P90. Empty: no
// layout fits.
std::string waterfall_chart(const Capacity& capacity);

// Goodput against the number of devices, a line for each restart time. Empty: no layout fits, or
// there is one count.
std::string goodput_chart(const Capacity& capacity, DeviceKind kind);

}  // namespace meshwright::reports
