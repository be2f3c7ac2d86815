// SPDX-License-Identifier: Apache-2.0
// A layout in a framework's words, or why it cannot be said in them.
#pragma once

#include <string>
#include <vector>

namespace meshwright {

struct LaunchFile {
  std::string target;    // "Megatron-LM"
  std::string names_of;  // the version whose names these are
  std::string file_name;
  std::string text;                // empty when refused
  std::vector<std::string> notes;  // differences from the layout, and lines that the user must add
  std::string refusal;             // why the framework cannot run this layout
};

}  // namespace meshwright
