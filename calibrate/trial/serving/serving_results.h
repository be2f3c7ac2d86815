// SPDX-License-Identifier: Apache-2.0
// What the replicas of a service observed, brought to every rank.
#pragma once

#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/trial/serving/serving_engine.h"
#include "sim/serving/serving_observation.h"

namespace meshwright::calibrate {

// Rows of `width` numbers that the first rank of each replica has (others: none), from all of them
// on every rank: replica by replica. Collective over `world`.
using NumberRows = std::vector<std::vector<double>>;
NumberRows rows_of_replicas(Communicator& world, const NumberRows& own, std::size_t width);

// The functions below are collective over `world` and add to the observation. The engine: on the
// first rank of a replica, else null.
//
// Requests and the gaps between their tokens, in the order of the load.
void gather_requests(const ServingEngine* engine, Communicator& world, ServingObservation& o);
// Steps of the replica with this number, and the counts of all. The prefill pool's replicas have
// the first numbers, and the requests are known.
void gather_steps(const ServingEngine* engine, int replica, Communicator& world,
                  ServingObservation& o);
// Of the requests that were gathered. The hand-overs: on the first rank of a decode replica, else
// none.
void gather_handovers(const std::vector<ObservedHandover>& handovers, Communicator& world,
                      ServingObservation& o);

}  // namespace meshwright::calibrate
