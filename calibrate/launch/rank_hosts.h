// SPDX-License-Identifier: Apache-2.0
// What every rank says of itself, known to all of them.
#pragma once

#include <string>
#include <vector>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

// Each rank's host name, by rank. Collective.
std::vector<std::string> hosts_of(Communicator& world);

// Each rank's number, by rank. Collective.
std::vector<double> gathered(Communicator& world, double mine);

}  // namespace meshwright::calibrate
