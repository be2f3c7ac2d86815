// SPDX-License-Identifier: Apache-2.0
// The end of work in which not all ranks have a part.
#pragma once

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

// A barrier. Ranks that are left over, or done early, may wait there for as long as the others
// work: only those are judged. Collective.
void await_all(Communicator& world);

}  // namespace meshwright::calibrate
