// SPDX-License-Identifier: Apache-2.0
// Which links carry what a rank sends: those of its node, or the NICs between nodes.
#pragma once

#include "sim/volume/volume.h"

namespace meshwright {

struct LinkBytes {
  Bytes intra_node, inter_node;
  [[nodiscard]] Bytes on(Tier tier) const {
    return tier == Tier::inter_node ? inter_node : intra_node;
  }
};

// Bytes that one rank sends in a step for a transfer, by link. R of the group's n ranks are on a
// node; there are N nodes. Ring: one of the R ranks on a node sends to the next node, 1 / R of the
// bytes. All-to-all: n - R of a rank's n - 1 peers are on other nodes. A dispatcher that sends one
// copy of a token to each node: payload x share_between_domains(); the rest is passed on inside. A
// pair on two nodes (send_recv, R = 1): all.
LinkBytes sent_over_links(const Transfer& transfer, const Layout& layout, const Cluster& cluster);

}  // namespace meshwright
