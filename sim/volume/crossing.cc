// SPDX-License-Identifier: Apache-2.0
#include "sim/volume/crossing.h"

#include "sim/volume/dispatch.h"
#include "sim/volume/transfer.h"

namespace meshwright {

LinkBytes sent_over_links(const Transfer& transfer, const Layout& layout, const Cluster& cluster) {
  const Placement p = place(transfer, layout, cluster);
  const Bytes sent = transfer.sent_per_step();
  if (p.num_nodes == 1) return {sent, bytes(0)};
  const double n = p.group_size, here = p.ranks_per_node;
  Bytes leaving = sent / here;
  if (transfer.routing.topk > 0) {
    leaving = transfer.payload_per_step() * share_between_domains(transfer.routing, p);
  } else if (transfer.collective == Collective::all_to_all) {
    leaving = sent * ((n - here) / (n - 1.0));
  }
  return {sent - leaving, leaving};
}

}  // namespace meshwright
