// SPDX-License-Identifier: Apache-2.0
// tqdm's progress bars: "  3%|3         | 12/400 [03:20<1:48:00, 16.73s/it]".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/units.h"

namespace meshwright::interop {

struct ProgressBar {
  std::string label;  // the letters before the percentage
  int done = 0, total = 0;
  std::optional<Seconds> elapsed;        // whole seconds
  std::optional<Seconds> time_per_step;  // smoothed by tqdm
  bool counts_steps = true;              // "it" or "step"; false: bytes, examples and others
};

// The first bar of a text, which is taken off the text; nothing where none is left.
std::optional<ProgressBar> next_progress_bar(std::string_view& text);

}  // namespace meshwright::interop
