// SPDX-License-Identifier: Apache-2.0
// Layouts that differ in switches only.
#pragma once

#include <vector>

#include "sim/layout/layout.h"

namespace meshwright {

struct LayoutGroup {
  Layout pipeline;  // fields that all layouts share; switches have their defaults
  std::vector<Layout> layouts;
};

}  // namespace meshwright
