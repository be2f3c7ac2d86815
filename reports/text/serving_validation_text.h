// SPDX-License-Identifier: Apache-2.0
// What trials of a service showed, as sentences. The terminal and the page print the same ones.
#pragma once

#include <string>
#include <vector>

#include "planner/serving/serving_validation.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {

// "4 deployments ran on 2 cores, each with 80 requests. The predicted decode step was off by 4 %
// and the time to first token by 10 % (medians). The deployment predicted best was the best that
// ran."
std::string served_sentence(const planner::ServingValidation& validation);

// A line of the summary: "TPOT", "median error 5 % of the means".
struct ServingFinding {
  std::string of{}, says{};
};
// Empty where no service could be compared.
std::vector<ServingFinding> serving_findings(const planner::ServingValidation& validation);

// "1 x tp2: bf16 (fp32 was run)", of each service that has parts that were not run.
std::vector<std::string> served_in_part(const planner::ServingValidation& validation);

// "as predicted", "not as predicted in 3 steps and 1 cache".
std::string served_bytes_text(const planner::ServingComparison& service);

// What the services ran on.
DeviceKind served_on(const planner::ServingValidation& validation);

}  // namespace meshwright::reports
