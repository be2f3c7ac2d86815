// SPDX-License-Identifier: Apache-2.0
// One unit's Adam step where its states are: on the device, or on the host.
#pragma once

#include "calibrate/trial/ranks/context.h"
#include "calibrate/trial/states/parameters.h"

namespace meshwright::calibrate {

// weight, gradient: `count` numbers on the device, as many as the unit's states have. Charges the
// optimizer.
void update_weights(const TrialContext& context, ParameterUnit& unit, float* weight,
                    const float* gradient, std::int64_t count, const AdamStep& adam);

}  // namespace meshwright::calibrate
