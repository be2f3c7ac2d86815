// SPDX-License-Identifier: Apache-2.0
// A layout in the words of the frameworks that would run it: Megatron-LM arguments, torchtitan
// TOML, DeepSpeed JSON. What a framework cannot express is refused with the reason, never
// approximated.
//
// Names are those of the frameworks' sources at the commit in `names_of`; nothing here was run.
#pragma once

#include <string>
#include <vector>

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"

namespace meshwright::interop {

struct Launch {
  std::string target;    // "Megatron-LM"
  std::string names_of;  // the version whose names these are
  std::string file_name;
  std::string text;                // empty when refused
  std::vector<std::string> notes;  // what differs, what to add
  std::string refusal;             // why the framework cannot run this layout
};

struct Training {
  const Model& model;
  const Cluster& cluster;
  const Job& job;
  const Layout& layout;
};

Launch megatron_lm(const Training& training);
Launch torchtitan(const Training& training);
Launch deepspeed(const Training& training);

std::vector<Launch> launches(const Training& training);

}  // namespace meshwright::interop
