// SPDX-License-Identifier: Apache-2.0
// Subject of a question: a model on a cluster for a job. A function that needs all three takes a
// Scenario; bytes do not see the hardware, so memory, volume and rules take model, job and layout.
#pragma once

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/model/model.h"

namespace meshwright {

struct Scenario {
  Model model;
  Cluster cluster;
  Job job;
};

}  // namespace meshwright
