// SPDX-License-Identifier: Apache-2.0
// A launch changed to another layout. It is read again, and counts only if it is that layout.
#pragma once

#include <string>
#include <vector>

#include "app/runs/launched_run.h"

namespace meshwright::app {

struct ChangedLaunch {
  interop::LaunchFiles files{};  // as long as there is no refusal
  // In the words of the launch; after a refusal in those of its launcher.
  std::vector<interop::LaunchChange> changes{};
  std::string refusal{};  // why its files cannot say the layout
};
ChangedLaunch changed_launch(const LaunchedRun& run, const Layout& layout);

// Writes the launch to `out`, and beside it the files that it names: changed ones under a name of
// their own, which the launch then has. Returns their paths.
std::vector<std::string> write_launch(const LaunchedRun& run, const interop::LaunchFiles& files,
                                      const std::string& out);

}  // namespace meshwright::app
