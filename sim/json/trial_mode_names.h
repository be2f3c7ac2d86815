// SPDX-License-Identifier: Apache-2.0
// The words for a trial's modes: the same in JSON and on the command line.
#pragma once

#include <array>

#include "sim/json/reader.h"
#include "sim/trial_mode.h"

namespace meshwright {

inline constexpr std::array kTrialModeNames{EnumName{TrialMode::training, "training"},
                                            EnumName{TrialMode::prefill, "prefill"},
                                            EnumName{TrialMode::decode, "decode"}};

}  // namespace meshwright
