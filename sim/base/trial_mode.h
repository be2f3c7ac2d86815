// SPDX-License-Identifier: Apache-2.0
// Kind of a trial: a training step, or forward passes of tensor-parallel inference.
#pragma once

#include "sim/base/enum_names.h"

namespace meshwright {

enum class TrialMode {
  training,
  prefill,  // the whole prompt at once, filling the key-value cache
  decode,   // one position of each sequence at a time, behind the cache
};
inline constexpr std::array kTrialModeNames{EnumName{TrialMode::training, "training"},
                                            EnumName{TrialMode::prefill, "prefill"},
                                            EnumName{TrialMode::decode, "decode"}};

}  // namespace meshwright
