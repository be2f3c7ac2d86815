// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/dispatch_fit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "calibrate/measure/deepep.h"
#include "sim/base/statistics.h"
#include "sim/collective/collective_model.h"
#include "sim/hardware/placement.h"
#include "sim/serving/operator_time.h"

namespace meshwright::calibrate {
namespace {

constexpr double kLeastShare = 0.01, kMostShare = 4.0;  // what is outside is no time of a link
constexpr double kLeastFraction = 1e-4;
constexpr double kFittedSpread = 0.15;  // of the scaled rate at other sizes, assumed

int nodes_of(const GroupCall& call) {
  return std::max(1, call.group_size / std::max(1, call.ranks_per_node));
}

// Bytes a second that cross the link, over what NCCL's collectives reach on it; 0: no such link.
double deepep_share(const MeasuredPoint& p, const GroupCall& call, const Cluster& cluster) {
  const double ranks = call.group_size, nodes = nodes_of(call);
  if (call.tier == Tier::intra_node) {
    const Link& link = cluster.intra_node;
    const BytesPerSecond reached = link.bandwidth * link.bandwidth_fraction;
    return reached.value() > 0.0 ? p.amount * ((ranks - 1.0) / ranks) / p.time() / reached : 0.0;
  }
  if (!(cluster.inter_node.bandwidth.value() > 0.0)) return 0.0;
  const Placement placement{.group_size = call.group_size,
                            .ranks_per_node = call.ranks_per_node,
                            .num_nodes = nodes_of(call),
                            .groups_per_node = 1};
  const BytesPerSecond nics =
      nic_share(Collective::all_to_all, placement, cluster) * cluster.inter_node.bandwidth_fraction;
  const Bytes leaving = p.amount * (call.ranks_per_node * (nodes - 1.0) / nodes);
  return nics.value() > 0.0 ? leaving / p.time() / nics : 0.0;
}

// Time of these bytes at the rate that is fitted over published tests.
Seconds pooled_time(Bytes sent, Seconds latency, double fraction, const Cluster& cluster) {
  return latency + sent / (cluster.intra_node.bandwidth * fraction);
}

struct Scales {
  std::vector<double> dispatch, combine;  // measured over pooled
};

void scale_one(Seconds& latency, double& fraction, const std::vector<double>& scales) {
  if (scales.empty()) return;
  const double scale = median(scales);
  latency = latency * scale;
  fraction = std::clamp(fraction / scale, kLeastFraction, 1.0);
}

}  // namespace

void fit_dispatch(Cluster& cluster, const std::vector<MeasuredPoint>& points,
                  std::vector<Fit>& fits) {
  for (const Tier tier : {Tier::intra_node, Tier::inter_node}) {
    std::vector<double> shares;
    for (const MeasuredPoint& p : points) {
      const auto* timed_call = p.as<timed::CollectiveCall>();
      if (timed_call == nullptr || !is_deepep(timed_call->call) || timed_call->call.tier != tier ||
          is_deepep_low_latency(timed_call->call)) {
        continue;
      }
      const double share = deepep_share(p, timed_call->call, cluster);
      if (share > kLeastShare && share < kMostShare) shares.push_back(share);
    }
    if (shares.empty()) continue;
    const double middle = median(shares);
    Link& link = tier == Tier::intra_node ? cluster.intra_node : cluster.inter_node;
    link.deepep_fraction = std::min(1.0, middle);
    const double spread = standard_deviation(shares) / middle;
    fits.push_back({tier == Tier::intra_node ? "DeepEP inside a node" : "DeepEP between nodes",
                    {{"share of the link's rate", middle, spread * middle}},
                    spread,
                    static_cast<int>(shares.size())});
  }
}

std::vector<DispatchRate> fit_low_latency(const Cluster& cluster,
                                          const std::vector<MeasuredPoint>& points) {
  std::map<int, Scales> by_nodes;
  for (const MeasuredPoint& p : points) {
    const auto* timed_call = p.as<timed::CollectiveCall>();
    if (timed_call == nullptr || !is_deepep_low_latency(timed_call->call)) continue;
    const int nodes = nodes_of(timed_call->call);
    const DispatchRate pooled = dispatch_rate({}, nodes);
    const bool sends = timed_call->call.algorithm == kDeepEpDispatchLowLatency;
    const Seconds at_pooled =
        sends ? pooled_time(p.amount, pooled.dispatch_latency, pooled.dispatch_fraction, cluster)
              : pooled_time(p.amount, pooled.combine_latency, pooled.combine_fraction, cluster);
    Scales& scales = by_nodes[nodes];
    (sends ? scales.dispatch : scales.combine).push_back(p.time() / at_pooled);
  }
  std::vector<DispatchRate> rates;
  if (!(cluster.intra_node.bandwidth.value() > 0.0)) return rates;
  for (const auto& [nodes, scales] : by_nodes) {
    DispatchRate rate = dispatch_rate({}, nodes);
    rate.nodes = nodes;
    scale_one(rate.dispatch_latency, rate.dispatch_fraction, scales.dispatch);
    scale_one(rate.combine_latency, rate.combine_fraction, scales.combine);
    rate.relative_spread = kFittedSpread;
    rate.provenance = Provenance::fitted;
    rates.push_back(rate);
  }
  return rates;
}

}  // namespace meshwright::calibrate
