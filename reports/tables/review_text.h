// SPDX-License-Identifier: Apache-2.0
// A review for people.
#pragma once

#include <string>

#include "reports/records/review.h"

namespace meshwright::reports {

// For a screen of `width` characters.
std::string review_text(const ReviewedRun& run, std::size_t width);

}  // namespace meshwright::reports
