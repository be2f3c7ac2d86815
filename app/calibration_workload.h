// SPDX-License-Identifier: Apache-2.0
// What a calibration should measure so that a model's layouts are predicted from measured shapes:
// the GEMMs and collectives of every legal layout over `ranks` ranks, with how often a step calls
// each (the mean over the layouts), and its kernels' sizes.
#pragma once

#include "calibrate/sweep.h"
#include "sim/base/job.h"
#include "sim/model/model.h"

namespace meshwright::app {

calibrate::Workload calibration_workload(const Model& model, const Job& job, int ranks);

}  // namespace meshwright::app
