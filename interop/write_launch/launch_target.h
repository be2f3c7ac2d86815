// SPDX-License-Identifier: Apache-2.0
// The launchers that a layout can be said to, by name: why not, the settings that it decides, and
// what changes from one layout to another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interop/write_launch/launch.h"

namespace meshwright::interop {

// As LaunchRecord::target names it. Nothing is written for a target that is not known.
std::string refusal_for(std::string_view target, const Training& training);
std::vector<LaunchSetting> settings_for(std::string_view target, const Training& training);

struct LaunchChange {
  std::string name;
  bool before = false, after = false;  // whether it is said
  std::string value_before, value_after;
};
// In the order in which the later settings say them; what is only said before comes last.
std::vector<LaunchChange> launch_changes(const std::vector<LaunchSetting>& before,
                                         const std::vector<LaunchSetting>& after);

// The words of a command with the options changed, added behind the others, or removed.
std::vector<std::string> changed_command(const std::vector<std::string>& words,
                                         const std::vector<LaunchChange>& changes);
// Words as a shell reads them, an option a line.
std::string command_text(const std::vector<std::string>& words);

}  // namespace meshwright::interop
