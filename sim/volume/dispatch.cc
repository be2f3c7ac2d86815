// SPDX-License-Identifier: Apache-2.0
#include "sim/volume/dispatch.h"

#include <cmath>

#include "sim/base/quadrature.h"
#include "sim/collective/collective_model.h"
#include "sim/kernel_time/host.h"

namespace meshwright {
namespace {

// Bandwidth of the libraries as a share of that of NCCL's rings on the same links, 0 to 1, inside a
// domain and across domains. Their own tables also count copies inside the local node; these shares
// are of the bytes on the link, in GB/s:
//   deepep, inside: 153 to 158 of 181 on H800, 494 of 810 on B200 with 24 SMs.
//   deepep, across: 43.5 of 48 on 32 H800, 44.6 on 64, 21.5 on 16 (DeepEP dd758caf,
//     docs/legacy.md).
//   hybridep, inside: 536 of 810 on 8 B200, 473 of 702 on 16 GB200.
//   hybridep, across: 34.9 of 48 on 32 H100, 36.3 on 64, 28.9 on 16 (its branch 94a9f8f6,
//     docs/README_Hybrid-EP.md).
//   ncclep: as hybridep, assumed.
struct Shares {
  double inside, across;
};
constexpr Shares shares_of(MoeFlexDispatcherBackend backend) {
  return backend == MoeFlexDispatcherBackend::deepep ? Shares{0.7, 0.92} : Shares{0.67, 0.73};
}
// What was measured on this cluster's links comes first.
Shares shares_on(const Cluster& cluster, MoeFlexDispatcherBackend backend) {
  Shares shares = shares_of(backend);
  if (backend != MoeFlexDispatcherBackend::deepep) return shares;
  if (cluster.intra_node.deepep_fraction > 0.0) shares.inside = cluster.intra_node.deepep_fraction;
  if (cluster.inter_node.deepep_fraction > 0.0) shares.across = cluster.inter_node.deepep_fraction;
  return shares;
}
constexpr double kSharesSpread = 0.2;

}  // namespace

double share_between_domains(const Routing& routing, const Placement& p) {
  const double domains = p.num_nodes;
  return places_of_token(routing, p.num_nodes) / places_of_token(routing, p.group_size) *
         ((domains - 1.0) / domains);
}

Cost dispatch_cost(Bytes copies, const Routing& routing, MoeFlexDispatcherBackend backend,
                   const Placement& p, const Cluster& cluster) {
  if (p.group_size <= 1 || copies.value() <= 0.0) return {};
  const Shares shares = shares_on(cluster, backend);
  const double ranks = p.group_size, domains = p.num_nodes;
  const Link& inside = cluster.intra_node;
  const Seconds handed_on = copies * ((ranks - 1.0) / ranks) /
                            (inside.bandwidth * inside.bandwidth_fraction * shares.inside);
  if (p.num_nodes == 1) {
    return {inside.base_latency + inside.latency + handed_on,
            in_quadrature(inside.relative_spread, kSharesSpread), inside.provenance};
  }
  const Link& link = cluster.inter_node;
  const BytesPerSecond nics =
      nic_share(Collective::all_to_all, p, cluster) * link.bandwidth_fraction * shares.across;
  const Seconds sent = copies * (p.ranks_per_node * share_between_domains(routing, p)) / nics;
  return {link.base_latency + link.latency * std::ceil(std::log2(domains)) +
              overlapped(handed_on, sent),
          in_quadrature(link.relative_spread, kSharesSpread), link.provenance};
}

}  // namespace meshwright
