// SPDX-License-Identifier: Apache-2.0
// A layout in the words of the frameworks that would run it: Megatron-LM arguments, torchtitan
// TOML, DeepSpeed JSON. What a framework cannot express is refused with the reason, never
// approximated.
//
// Names are those of the frameworks' sources at the commit in `names_of`; nothing here was run.
#pragma once

#include <vector>

#include "sim/base/job.h"
#include "sim/base/launch_file.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright::interop {

struct Training {
  const Model& model;
  const Cluster& cluster;
  const Job& job;
  const Layout& layout;
};

LaunchFile megatron_lm(const Training& training);
LaunchFile torchtitan(const Training& training);
LaunchFile deepspeed(const Training& training);

std::vector<LaunchFile> launches(const Training& training);

}  // namespace meshwright::interop
