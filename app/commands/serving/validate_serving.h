// SPDX-License-Identifier: Apache-2.0
// meshwright validate of a service's plan and its trials.
#pragma once

#include <optional>
#include <string>

#include "app/options/output.h"
#include "reports/records/origin.h"
#include "sim/record/json.h"

namespace meshwright::app {

struct ServingValidationQuestion {
  std::string plan, trials, cluster;  // cluster: empty: the plan's
  std::optional<double> max_error;    // of the median step, as a share
  bool force = false;
  OutputOptions output;
};
// `origin`: with the fingerprints of both. Returns the exit code.
int run_serving_validation(const Json& plan, const Json& trials,
                           const ServingValidationQuestion& question,
                           const reports::Origin& origin);

}  // namespace meshwright::app
