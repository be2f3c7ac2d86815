// SPDX-License-Identifier: Apache-2.0
// A communicator whose calls count as this rank's operations.
#pragma once

#include <memory>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

// Groups that it is split into report, too.
std::unique_ptr<Communicator> reporting(std::unique_ptr<Communicator> communicator);

}  // namespace meshwright::calibrate
