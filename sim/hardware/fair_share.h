// SPDX-License-Identifier: Apache-2.0
// Rate of each of many concurrent streams: max-min fair rates by progressive filling (Bertsekas and
// Gallager, Data Networks, 6.5.2). All rates grow together; a wire that is full stops the streams
// on it; the others go on.
//
// A stream loads a wire `load` times its rate: a ring passes each wire of its members once, a
// stream with two hops on one wire loads it twice.
#pragma once

#include <span>
#include <vector>

#include "sim/base/units.h"

namespace meshwright {

struct WireLoad {
  int wire = 0;       // index of the link
  double load = 1.0;  // traffic on the link, relative to the stream's rate
};
using Stream = std::vector<WireLoad>;

// Rate of each stream; infinite for a stream without wires. Every load is above zero.
std::vector<BytesPerSecond> max_min_rates(std::span<const BytesPerSecond> wires,
                                          std::span<const Stream> streams);

}  // namespace meshwright
