// SPDX-License-Identifier: Apache-2.0
// What a question is asked about: a model on a cluster for a job.
#pragma once

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/model/model.h"

namespace meshwright::planner {

struct Scenario {
  Model model;
  Cluster cluster;
  Job job;
};

}  // namespace meshwright::planner
