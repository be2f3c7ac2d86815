// SPDX-License-Identifier: Apache-2.0
// Why it is uncertain whether a layout fits, for people.
#pragma once

#include <string>

#include "sim/step/estimate.h"

namespace meshwright::reports {

// "The allocator would reserve 79.1 GiB of 79.1 GiB. It may run, or it may run out of memory.";
// empty: the fit is not uncertain.
std::string uncertain_fit_text(const Estimate& estimate, const Cluster& cluster);
// The same after a sentence on the layout: " Its fit is uncertain. The allocator ...".
std::string doubt_text(const Estimate& estimate, const Cluster& cluster);

}  // namespace meshwright::reports
