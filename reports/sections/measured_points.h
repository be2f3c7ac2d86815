// SPDX-License-Identifier: Apache-2.0
// Every measured GEMM and collective beside the model that was fitted to them.
#pragma once

#include <string>
#include <vector>

#include "reports/records/report.h"

namespace meshwright::reports {

const Record<MeasuredSeries>& measured_series_record();
std::vector<MeasuredSeries> measured_series_of(const planner::Plan& plan);
// Empty where nothing was measured.
std::string measured_series_page(const std::vector<MeasuredSeries>& measured);

}  // namespace meshwright::reports
