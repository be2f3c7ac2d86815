// SPDX-License-Identifier: Apache-2.0
// What a replica's steps cost: its operators at each number of rows, with the rates of the device.
#pragma once

#include "sim/serving/step.h"

namespace meshwright {

// Options with defaults (with_defaults). The layout obeys the rules.
ReplicaCost replica_cost(const Model& model, const ServingCluster& cluster, const Engine& engine,
                         const ReplicaOptions& options);

}  // namespace meshwright
