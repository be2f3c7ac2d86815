// SPDX-License-Identifier: Apache-2.0
// Every name that is written for a launcher: since when it has it, and where that stands. What is
// conditional (chunks as layers or as stages, ZeRO 1 in two places) is code of the writer; what is
// called how is here. Megatron-LM's names are those of read_launch/megatron_arguments.h, which the
// reader knows, too.
#pragma once

#include <optional>
#include <string_view>

namespace meshwright::interop {

struct LaunchName {
  std::string_view name;    // "parallelism.tp"
  std::string_view since;   // the oldest version that it was seen in
  std::string_view source;  // the file that has it, at that version
};

// Nothing where the target, or the name of it, is not known here.
std::optional<LaunchName> launch_name(std::string_view target, std::string_view name);

}  // namespace meshwright::interop
