// SPDX-License-Identifier: Apache-2.0
// A step without one of its calls between ranks, for each of its calls.
#pragma once

#include <functional>

#include "calibrate/trial/trial_step.h"

namespace meshwright::calibrate {

inline Model two_layers(Model model) {
  model.num_layers = 2;
  return model;
}

// Whether a first step is another than it should be, seen by this rank.
using Differs = std::function<bool(const TrialStep&)>;

// Each call that is left out makes the step differ on some rank; all calls together do not. The one
// exception: recompute runs an MLP to its end, last reduction included, and drops what comes out.
// `too_small`: so many more calls may be missing unseen, whose effect the caller knows to be small.
void expect_every_call_noticed(const Model& model, const Job& job, const Layout& layout,
                               const StepOptions& options, const Differs& differs,
                               int too_small = 0);

}  // namespace meshwright::calibrate
