// SPDX-License-Identifier: Apache-2.0
// What a step's interval rests on, for people.
#pragma once

#include <string>

#include "sim/step/estimate.h"

namespace meshwright::reports {

// "a known chip and known software".
std::string_view words_of(IntervalRegime regime);
// "The interval is that of a known chip and known software. To narrow it: ...".
std::string interval_text(const Estimate& estimate);

}  // namespace meshwright::reports
