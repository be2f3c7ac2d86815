// SPDX-License-Identifier: Apache-2.0
#include "reports/text/memory_fit_text.h"

#include <fmt/format.h>

#include "reports/text/text.h"

namespace meshwright::reports {

std::string uncertain_fit_text(const Estimate& estimate, const Cluster& cluster) {
  if (estimate.memory_fit != MemoryFit::uncertain) return "";
  const Bytes memory = only_device(cluster).memory;
  const bool close = estimate.peak_memory() >= memory * (1.0 - kMemorySpread);
  return fmt::format("{}. It may run, or it may run out of memory.",
                     close ? fmt::format("Memory use is within {} % of the limit",
                                         number_text(100.0 * kMemorySpread, 3))
                           : fmt::format("The allocator would reserve {} of {}",
                                         memory_text(estimate.reserved_peak), memory_text(memory)));
}

std::string doubt_text(const Estimate& estimate, const Cluster& cluster) {
  const std::string why = uncertain_fit_text(estimate, cluster);
  return why.empty() ? "" : " Its fit is uncertain. " + why;
}

}  // namespace meshwright::reports
