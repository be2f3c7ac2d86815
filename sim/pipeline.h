// SPDX-License-Identifier: Apache-2.0
// The stages of a layout with what each costs for one micro-batch, as the schedule sees them.
#pragma once

#include <vector>

#include "sim/cost/stage.h"
#include "sim/cost_table.h"
#include "sim/schedule/schedule.h"

namespace meshwright {

struct Pipeline {
  std::vector<Stage> stages;
  std::vector<StageCost> costs;
  PipelineTimes times;  // send is left 0
  int slowest = 0;      // the stage with most work
};

Pipeline pipeline_of(CostTable& table, const Layout& layout);

}  // namespace meshwright
