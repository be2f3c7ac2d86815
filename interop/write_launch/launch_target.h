// SPDX-License-Identifier: Apache-2.0
// The launchers that a layout can be said to, by name: whose costs are theirs, why not, and the
// settings that a layout decides.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interop/write_launch/launch.h"

namespace meshwright::interop {

struct LaunchTarget {
  std::string_view name;       // as LaunchRecord::target and LaunchFile::target have it
  std::string_view framework;  // of configs/frameworks: its software's costs
  std::string_view why;        // where that software is not its own; empty: it is
  std::string (*model_refusal)(const Training&);   // whatever the layout is
  std::string (*layout_refusal)(const Training&);  // whatever the model is, but for experts
  std::vector<LaunchSetting> (*settings)(const Training&);
  LaunchFile (*write)(const Training&);  // nullptr: settings alone, in a launch that is there
};

std::span<const LaunchTarget> launch_targets();
// In any case of letters; nullptr: not known.
const LaunchTarget* launch_target(std::string_view name);

// Returns the refusal of a launcher by name. An unknown target has no file.
std::string refusal_for(std::string_view target, const Training& training);
std::vector<LaunchSetting> settings_for(std::string_view target, const Training& training);

}  // namespace meshwright::interop
