// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/hardware/cluster.h"

namespace meshwright {

// Throws InputError where devices of a node, or nodes, have no link between them: a calibration
// that did not measure it leaves it out.
void check_links(const Cluster& cluster);

}  // namespace meshwright
