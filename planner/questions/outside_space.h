// SPDX-License-Identifier: Apache-2.0
// Whether a search looks at a layout, and if not, which axes keep it out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/search/search.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct OutsideAxis {
  std::string_view field, option;     // option: empty where a search does not vary it
  std::string value;                  // value that the layout has
  std::vector<std::string> searched;  // beside what the layout's other fields are
};

// Empty: the layout is one of the space.
std::vector<OutsideAxis> outside_space(const Scenario& scenario, const SearchSpace& space,
                                       const Layout& layout);

// "It lies outside the searched space: --tp-overlap on (searched: off)." Empty when it does not.
std::string outside_text(const std::vector<OutsideAxis>& outside);

}  // namespace meshwright::planner
