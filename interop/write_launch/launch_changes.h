// SPDX-License-Identifier: Apache-2.0
// What changes from one layout to another, in a launcher's words and in the command as it was
// typed.
#pragma once

#include <string>
#include <vector>

#include "interop/write_launch/launch.h"

namespace meshwright::interop {

struct LaunchChange {
  std::string name;
  bool before = false, after = false;  // whether it is said
  std::string value_before, value_after;
};
// In the order in which the later settings say them; what is only said before comes last.
std::vector<LaunchChange> launch_changes(const std::vector<LaunchSetting>& before,
                                         const std::vector<LaunchSetting>& after);

// The words of a command with the options changed, added after the others, or removed. Keys of a
// file that the command names are not part of the command.
std::vector<std::string> changed_command(const std::vector<std::string>& words,
                                         const std::vector<LaunchChange>& changes);
// Words as a shell reads them, an option a line.
std::string command_text(const std::vector<std::string>& words);

}  // namespace meshwright::interop
