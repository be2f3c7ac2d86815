// SPDX-License-Identifier: Apache-2.0
// A layout in a line.
#pragma once

#include <string>

#include "sim/layout/layout.h"

namespace meshwright {

std::string name_of(const RankOrder& order);  // "tp-cp-ep-dp-pp"

// "tp8 pp4 dp16 mbs2 sp zero1 recompute=selective": the sizes that are not 1 and the switches that
// are on.
std::string short_name(const Layout& layout);

}  // namespace meshwright
