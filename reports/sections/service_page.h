// SPDX-License-Identifier: Apache-2.0
// The page of a service plan: the first screen, and the sections below it. It draws everything as
// static SVG; the page's script adds sorting, tabs and the theme button alone.
#pragma once

#include <string>
#include <string_view>

#include "reports/records/serving_plan.h"

namespace meshwright::reports {

// <header>: how many GPUs, which layout, at which latency, for how much, how sure. `hash`: of the
// record.
std::string service_header(const ServingPlanFile& file, std::string_view hash);
std::string service_body(const ServingPlanFile& file);
// Links to the sections of a body.
std::string service_navigation(std::string_view body);

}  // namespace meshwright::reports
