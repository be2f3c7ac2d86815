// SPDX-License-Identifier: Apache-2.0
// Changes of a launch from one layout to another: in a launcher's words, and in the files of the
// launch as they were typed. What is not changed stays as it is.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "interop/read_launch/launch_record.h"
#include "interop/write_launch/launch.h"

namespace meshwright::interop {

// A launch, and the files that it names, each under the name by which it was asked for.
struct LaunchFiles {
  std::string file, text;
  std::map<std::string, std::string> named{};
};

struct LaunchChange {
  std::string name;
  bool before = false, after = false;  // whether it is said
  std::string value_before, value_after;
};

// Launchers round Hugging Face's Trainer, whose files say sharding by DeepSpeed or accelerate.
bool is_fine_tuning(const std::string& target);
// The launcher (launch_target.h) in whose words a launch's layout is said.
std::string words_of_layout(const LaunchRecord& launch);
// Tells whether a launch can say tensor and context ranks: torchrun and LLaMA-Factory hand none to
// accelerate.
bool has_place_for_ranks(const LaunchRecord& launch);
// What a launch of this kind says of a layout. With `spellings`, also other words for the same,
// which may stand in its files.
std::vector<LaunchSetting> layout_settings(const LaunchRecord& launch, const Training& training,
                                           bool spellings);

// In the order in which the later settings say them; what is only said before comes last.
std::vector<LaunchChange> launch_changes(const std::vector<LaunchSetting>& before,
                                         const std::vector<LaunchSetting>& after);

// Puts the changes from one layout's settings to another's into the files, where the launch says
// them, and returns them by the names that it has for them. Options of other names that said one of
// `fields` go: --recompute-activations where --recompute-granularity changes. What the launch does
// not say yet is added if `adds`.
std::vector<LaunchChange> change_launch(LaunchFiles& files, const LaunchRecord& launch,
                                        const LaunchHints& hints,
                                        const std::vector<LaunchSetting>& before,
                                        const std::vector<LaunchSetting>& after,
                                        const std::set<std::string>& fields, bool adds);

}  // namespace meshwright::interop
