// SPDX-License-Identifier: Apache-2.0
// A cluster that datasheets and published numbers describe, and what was measured on it: what was
// measured overwrites, everything else stays.
#pragma once

#include <string>
#include <vector>

#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

// Why `measured` (its device, and how many ranks a node has) cannot be what `base` describes; empty
// when it can: another kind of device, another number of multiprocessors, more devices a node.
std::string cannot_be(const Cluster& base, const Cluster& measured);

// `base` with the measured device's name and memory, and at least as many nodes: what points are
// put onto (assemble). The base's size stays: a part of it was measured. Not where cannot_be()
// says why.
Cluster put_onto(Cluster base, const Cluster& measured);

// Number formats in which a product was faster than the datasheet's dense peak allows, in words:
// the cluster's file is of another chip, or wrong.
std::vector<std::string> faster_than_peak(const Device& device);

}  // namespace meshwright::calibrate
