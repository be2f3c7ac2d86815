// SPDX-License-Identifier: Apache-2.0
// How ranks agree that one of them has no memory left: that is an answer about a layout, and no
// failure of the job.
#pragma once

#include <string>

#include "calibrate/backends/host_ranks.h"

namespace meshwright::calibrate {

// `own`: what this rank's device said when it was full; empty: it was not. The same text on every
// rank, "out of memory on rank 3: ...", of the lowest one that is full; empty: none is. Collective.
std::string out_of_memory_of_any(HostRanks& ranks, const std::string& own);

}  // namespace meshwright::calibrate
