// SPDX-License-Identifier: Apache-2.0
// Trials as a file: an array of observations, or an object that holds one under "observations".
#pragma once

#include <string>
#include <vector>

#include "reports/records/origin.h"
#include "sim/record/json.h"
#include "sim/step/observation.h"

namespace meshwright::app {

// Trials carry the fingerprint of the plan that they are of. Another plan than the one at hand (its
// fingerprint is in `origin` under "plan"): throws InputError, or with `force` returns the sentence
// that then belongs on whatever is made of them, as does the one for a file that does not say.
// Empty: it is that plan.
std::string caution_about(const Json& trials, const std::string& file,
                          const reports::Origin& origin, bool force);

// Throws InputError if the trials are not of a service; `refuse_service_trials` if they are of one.
void require_service_trials(const Json& trials, const std::string& file);
void refuse_service_trials(const Json& trials, const std::string& file);

// Throws InputError.
std::vector<Observation> observations_from_json(const Json& json, const std::string& file);

}  // namespace meshwright::app
