// SPDX-License-Identifier: Apache-2.0
// What a trial ran: a training step, or forward passes of tensor-parallel inference.
#pragma once

namespace meshwright {

enum class TrialMode {
  training,
  prefill,  // the whole prompt at once, filling the key-value cache
  decode,   // one position of each sequence at a time, behind the cache
};

}  // namespace meshwright
