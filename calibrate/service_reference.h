// SPDX-License-Identifier: Apache-2.0
// Tells how fast a host is between the services of a trial, by whole steps of a service whose times
// the profile has.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/backends/compute.h"
#include "calibrate/measure/points.h"
#include "calibrate/trial/speed_reference.h"
#include "sim/model/model.h"
#include "sim/serving/engine.h"

namespace meshwright::calibrate {

// `points`: of a profile of this device, measured by as many ranks as `world` has. Null where they
// have no steps of the model on one rank. Collective.
std::unique_ptr<SpeedReference> start_service_reference(const std::vector<MeasuredPoint>& points,
                                                        const Model& model, const Engine& engine,
                                                        Compute& compute, Communicator& world);

}  // namespace meshwright::calibrate
