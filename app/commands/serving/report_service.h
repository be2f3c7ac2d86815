// SPDX-License-Identifier: Apache-2.0
// meshwright report of a service's plan, with its trials.
#pragma once

#include <string>

#include "app/commands/report_files.h"
#include "reports/records/origin.h"
#include "sim/record/json.h"

namespace meshwright::app {

// The page of a service plan, with the plan next to it. `origin`: with the plan's fingerprint.
// Returns the exit code; throws InputError, also for a profile, which the page does not show.
int report_service(const ReportOptions& options, const Json& plan, reports::Origin origin);

// Throws InputError for the list that serve writes where it compares clusters.
void refuse_several_services(const Json& plan, const std::string& file);

}  // namespace meshwright::app
