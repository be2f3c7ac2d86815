// SPDX-License-Identifier: Apache-2.0
// What a calibration should measure so that a model's layouts are predicted from measured shapes:
// the GEMMs and collectives of all of them, with how often a step calls each (the mean over the
// layouts), and the model's kernels at each tensor size.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/sweep.h"
#include "sim/base/job.h"
#include "sim/layout/layout_group.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

// The job as a trial runs it: attention without a fused kernel.
Job as_trials_run_it(Job job);

// The job as a calibration of such devices measures it. On cores trials run it. A GPU's job with a
// fused attention has no products of scores and no softmax: their time is spent on what it has.
Job as_calibrated(const Job& job, DeviceKind kind);

// The model with as few layers as have all of its kinds, and some more: at least four if it has
// them.
Model shortened(Model model);

// The step that ranks run alone beside a calibration: a micro-batch of so many sequences through as
// few layers as have all kinds, in fp32. None if it takes too long or the trial cannot run it.
std::optional<StepDemand> step_alone(const Model& model, const Job& job, int micro_batch_size);

// The groups weigh the same, and so do the layouts of a group.
Workload workload_of(const Model& model, const Job& job, const std::vector<LayoutGroup>& groups);

}  // namespace meshwright::calibrate
