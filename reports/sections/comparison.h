// SPDX-License-Identifier: Apache-2.0
// The page of reports side by side.
#pragma once

#include <string>

#include "reports/records/comparison.h"

namespace meshwright::reports {

// The page's header.
std::string comparison_headline(const Comparison& comparison);
// Returns the body of the comparison page.
std::string comparison_page_body(const Comparison& comparison);

}  // namespace meshwright::reports
