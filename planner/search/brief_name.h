// SPDX-License-Identifier: Apache-2.0
// A layout's short name without the overlap switches and without what counts as a layer of the
// pipeline's split, which nearly all layouts of a plan share.
#pragma once

#include <string>

#include "sim/layout/layout.h"

namespace meshwright::planner {

std::string brief_name(const Layout& layout);

}  // namespace meshwright::planner
