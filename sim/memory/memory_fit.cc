// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/memory_fit.h"

namespace meshwright {

Bytes reserved_peak(Bytes peak, Bytes allocated, const MemoryFacts& facts) {
  return peak + allocated * (facts.reserved_ratio - 1.0);
}

MemoryFit memory_fit(Bytes peak, Bytes reserved, Bytes memory) {
  if (peak > memory * (1.0 + kMemorySpread)) return MemoryFit::no;
  return reserved <= memory * (1.0 - kMemorySpread) ? MemoryFit::yes : MemoryFit::uncertain;
}

double sure_headroom(const MemoryFacts& facts) {
  return 1.0 - (1.0 - kMemorySpread) / facts.reserved_ratio;
}

}  // namespace meshwright
