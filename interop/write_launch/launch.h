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
LaunchFile nanotron(const Training& training);

std::vector<LaunchFile> launches(const Training& training);

// One thing that a launcher is told: "--tensor-model-parallel-size" and "8", "parallelism.tp" and
// "8"; an empty value is a switch that is on.
struct LaunchSetting {
  std::string name, value;
  bool operator==(const LaunchSetting&) const = default;
};

// What a layout decides of Megatron-LM's options, whatever the model is.
std::vector<LaunchSetting> megatron_layout_settings(const Training& training);
// Why Megatron-LM cannot run a layout; empty: it can.
std::string megatron_layout_refusal(const Layout& layout);
// The same of nanotron.
std::vector<LaunchSetting> nanotron_layout_settings(const Training& training);
std::string nanotron_layout_refusal(const Layout& layout);

}  // namespace meshwright::interop
