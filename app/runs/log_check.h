// SPDX-License-Identifier: Apache-2.0
// Whether a log can be of the launched run.
#pragma once

#include <string>

#include "interop/logs/training_log.h"
#include "sim/layout/layout.h"
#include "sim/step/estimate.h"
#include "sim/step/scenario.h"

namespace meshwright::app {

// Why it is of another model, job or device; empty: nothing says so. Logs print parameters, tokens
// a sequence and the device's name.
std::string why_log_is_anothers(const interop::TrainingLog& log, const Scenario& scenario,
                                const Layout& layout);
// Why the steps are not the launch's: they have tokens of another batch, which its ranks cannot
// divide. Empty: they may be.
std::string why_steps_are_anothers(const interop::MeasuredSteps& steps, const Scenario& scenario,
                                   const Layout& layout);
// Returns the contents of a log that is not used: "; it says 1.814 s a step (27 steps), 61.2 GiB
// allocated".
std::string what_log_says(const interop::TrainingLog& log);
// Why no such devices can be so fast; empty: they can.
std::string why_step_is_impossible(const Estimate& estimate, Seconds measured);

}  // namespace meshwright::app
