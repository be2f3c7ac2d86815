// SPDX-License-Identifier: Apache-2.0
// Hears which algorithm and protocol NCCL chooses for a collective, and changes nothing.
//
// NCCL hands its table of expected times to a tuner plugin before it takes the cheapest entry
// (ncclTunerPlugin_v4: NCCL 2.23 and later; rows tree, ring, collnet direct, collnet chain, nvls,
// nvls tree, pat; columns LL, LL128, simple; -1: not possible here). This module is that plugin.
#pragma once

#include <span>
#include <string>

namespace meshwright::calibrate {

// The cheapest entry of a table of rows of `protocols`, such as "ring simple"; empty: none.
std::string cheapest_algorithm(std::span<const float> table, int protocols);

// Before NCCL's first communicator: names this module as the plugin, unless the user or the system
// has a tuner or a network plugin of its own, which may hold one.
void listen_to_choices();

// Of the last collective since forget_choice(); empty: NCCL asked no tuner, as for sends.
std::string last_choice();
void forget_choice();

}  // namespace meshwright::calibrate
