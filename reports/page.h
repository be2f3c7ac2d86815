// SPDX-License-Identifier: Apache-2.0
// The report as one page that needs no network and reads without script and style; the page carries
// the record's text inside.
#pragma once

#include <string>
#include <string_view>

#include "reports/records/comparison.h"
#include "reports/records/report.h"
#include "reports/records/serving_plan.h"
#include "reports/records/shared_capacity.h"

namespace meshwright::reports {

std::string report_html(const Report& report);
// Of a capacity answer: its rows, clusters beside each other.
std::string capacity_html(const CapacityFile& file);
// Of a service plan whose sentences are written (sections/service_text.h).
std::string service_html(const ServingPlanFile& file);
// Of a training and a service on one cluster.
std::string shared_capacity_html(const SharedCapacityFile& file);
// Likewise of a comparison of reports.
std::string comparison_html(const Comparison& comparison);
// A record as compact text, for a file beside the page and for the page.
std::string record_text(const Json& record);

// Built from viewer/; the script is empty when it was built without npm.
std::string_view viewer_script();
std::string_view page_style();
std::string_view third_party_notices();

}  // namespace meshwright::reports
