// SPDX-License-Identifier: Apache-2.0
// Hears which algorithm and protocol NCCL chooses for a collective, and changes nothing.
//
// NCCL hands its table of expected times to a tuner plugin before it takes the cheapest entry
// (ncclTunerPlugin_v4: NCCL 2.23 and later). This module is that plugin.
#pragma once

#include <string>

namespace meshwright::calibrate {

// Before NCCL's first communicator: names this module as the plugin, unless the user or the system
// has a tuner or a network plugin of its own, which may hold one.
void listen_to_choices();

// Choice for the last collective since forget_choice(); empty: NCCL asked no tuner, as for sends.
std::string last_choice();
void forget_choice();

}  // namespace meshwright::calibrate
