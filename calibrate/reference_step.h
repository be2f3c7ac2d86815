// SPDX-License-Identifier: Apache-2.0
// Host speed by a step of the model itself.
//
// A calibration of cores runs a step of the model now and then (step_check.h). The trial runs the
// same step between its own steps, on as many ranks. It is the same kind of work, so the ratio of
// its times says how fast the host is for the trial's step: with a second rank on the other
// hyper-thread, with its clock, and with what other programs take.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/profile/profile.h"
#include "calibrate/sweep.h"
#include "calibrate/trial/speed_reference.h"

namespace meshwright::calibrate {

struct ReferenceStep {
  StepDemand step;
  Seconds calibrated;  // sum of its passes' times in the profile
};

// The model's steps that the profile has times of, by size of the micro-batch, ascending.
std::vector<ReferenceStep> reference_steps(const std::vector<MeasuredPoint>& points,
                                           const Model& model, const Job& job);

// The one whose micro-batch is nearest, by ratio; of two the smaller. Null without any.
const ReferenceStep* nearest_reference(const std::vector<ReferenceStep>& steps,
                                       int micro_batch_size);

// Warms up. Collective over `ranks`.
std::unique_ptr<SpeedReference> start_reference(const ReferenceStep& reference, Compute& compute,
                                                Communicator& ranks);

}  // namespace meshwright::calibrate
