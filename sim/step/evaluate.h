// SPDX-License-Identifier: Apache-2.0
// The numbers of one layout without its words: what a search needs, cheaply. estimate() is built on
// it, so both agree to the last bit.
//
// Step = pipeline (slowest stage x micro-batches + fill and drain) + what of the data-parallel
// communication is not hidden + optimizer + host + offload.
#pragma once

#include <optional>

#include "sim/rules/rules.h"
#include "sim/step/cost_table.h"
#include "sim/step/terms.h"

namespace meshwright {

struct Evaluation {
  std::optional<Violation> violation;  // when set, nothing below is (memory: peak_memory is)
  Seconds step_time;
  Terms terms{};
  Bytes peak_memory;
};

// Whether a layout that is too large for the device's memory gets a time all the same.
enum class MemoryLimit { enforced, reported };

// Rules, then memory, then time.
Evaluation evaluate(CostTable& table, const Layout& layout,
                    MemoryLimit limit = MemoryLimit::enforced);

}  // namespace meshwright
