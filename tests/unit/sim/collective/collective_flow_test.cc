// SPDX-License-Identifier: Apache-2.0
// The closed forms of large collectives against max-min fair shares over the graph, all groups of
// an axis at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "sim/collective/collective_model.h"
#include "sim/hardware/hops.h"
#include "sim/hardware/traffic.h"

namespace meshwright {
namespace {

// No latency: what is left is bandwidth.
Cluster bandwidth_only(int gpus_per_node, int nodes) {
  Cluster c;
  c.gpus_per_node = gpus_per_node;
  c.num_nodes = nodes;
  c.intra_node.bandwidth = gigabytes_per_second(450);
  c.intra_node.bandwidth_fraction = 0.9;
  c.inter_node.bandwidth = gigabytes_per_second(50);
  c.inter_node.bandwidth_fraction = 0.96;
  return c;
}

// A large enough payload hides the 3.4 us that a Simple hop takes at least.
constexpr double kPayload = 1e18;

double closed_form(Collective collective, Group group, const Layout& layout, const Cluster& c) {
  const Placement p = place(group, layout, c);
  const Bytes payload = bytes(kPayload);
  const Seconds time = collective_model_time(collective, payload, p, c);
  const double factor =
      collective == Collective::send_recv ? 1.0 : (p.group_size - 1.0) / p.group_size;
  return kPayload * factor / time.value();
}

// The slowest group, since a step waits for all.
double fair_share(Collective collective, Group group, const Layout& layout, const Cluster& c) {
  const Topology topology = Topology::of(c);
  std::vector<Traffic> traffic;
  for (const std::vector<int>& ranks : group_ranks(group, layout)) {
    if (collective == Collective::send_recv) {
      traffic.push_back(send_traffic(topology, ranks[0], ranks[1]));
    } else if (collective == Collective::all_to_all) {
      traffic.push_back(all_to_all_traffic(topology, ranks));
    } else {
      traffic.push_back(ring_traffic(topology, ranks));
    }
  }
  double slowest = std::numeric_limits<double>::infinity();
  for (const BytesPerSecond b : concurrent_bus_bandwidth(topology, traffic)) {
    slowest = std::min(slowest, b.value());
  }
  return slowest;
}

void expect_agreement(Collective collective, Group group, const Layout& layout, const Cluster& c) {
  EXPECT_NEAR(closed_form(collective, group, layout, c) / fair_share(collective, group, layout, c),
              1.0, 1e-6)
      << static_cast<int>(group) << " tp " << layout.tensor_parallel_size << " pp "
      << layout.pipeline_parallel_size << " dp " << layout.data_parallel_size << " nics "
      << c.nics_per_node << " spine " << c.spine_oversubscription << " node " << c.gpus_per_node;
}

std::vector<Layout> layouts_of(int world) {
  std::vector<Layout> layouts;
  for (int tp = 1; tp <= world; tp *= 2) {
    for (int pp = 1; tp * pp <= world; pp *= 2) {
      layouts.push_back({.tensor_parallel_size = tp,
                         .pipeline_parallel_size = pp,
                         .data_parallel_size = world / tp / pp});
    }
  }
  return layouts;
}

TEST(ClosedForms, EveryAxisOfEveryLayoutGetsItsFairShare) {
  // 1 to 64 ranks on a tensor axis, within a node and across nodes; 8, 4, 2 and 1 NICs.
  for (const int nics : {0, 4, 2, 1, 32}) {
    Cluster c = bandwidth_only(8, 8);
    c.nics_per_node = nics;
    for (const Layout& l : layouts_of(64)) {
      for (const Group g : {Group::tensor, Group::data}) {
        if (place(g, l, c).group_size > 1) expect_agreement(Collective::all_gather, g, l, c);
      }
    }
  }
}

TEST(ClosedForms, DeviceLinksSlowerThanTheNicCount) {
  Cluster c = bandwidth_only(8, 4);
  c.device.host_link = gigabytes_per_second(26);
  for (const Layout& l : layouts_of(32)) {
    for (const Group g : {Group::tensor, Group::data}) {
      if (place(g, l, c).group_size > 1) expect_agreement(Collective::all_gather, g, l, c);
    }
  }
}

TEST(ClosedForms, OverSubscribedUplinksCountWhereTheyAreCrossed) {
  for (const NetworkFabric network : {NetworkFabric::rail_optimised, NetworkFabric::fat_tree}) {
    for (const double spine : {1.0, 2.0, 4.0, 16.0}) {
      Cluster c = bandwidth_only(8, 16);
      c.network = network;
      c.nodes_per_leaf = 4;
      c.spine_oversubscription = spine;
      for (const Layout& l : layouts_of(128)) {
        for (const Group g : {Group::tensor, Group::data}) {
          if (place(g, l, c).group_size > 1) expect_agreement(Collective::all_gather, g, l, c);
        }
      }
    }
  }
}

TEST(ClosedForms, PodsBelowAnOverSubscribedCore) {
  Cluster c = bandwidth_only(8, 16);
  c.nodes_per_leaf = 2;
  c.nodes_per_pod = 4;
  c.core_oversubscription = 8.0;
  for (const Layout& l : layouts_of(128)) {
    for (const Group g : {Group::tensor, Group::data}) {
      if (place(g, l, c).group_size > 1) expect_agreement(Collective::all_gather, g, l, c);
    }
  }
}

TEST(ClosedForms, AllToAllOverNodesAndRails) {
  for (const int nics : {0, 4, 1}) {
    for (const int ep : {2, 4, 8, 16, 32}) {
      Cluster c = bandwidth_only(8, 4);
      c.nics_per_node = nics;
      const Layout l{.data_parallel_size = 32, .expert_parallel_size = ep};
      expect_agreement(Collective::all_to_all, Group::expert, l, c);
    }
  }
}

TEST(ClosedForms, PipelineSendsShareTheNics) {
  for (const int nics : {0, 4, 1}) {
    Cluster c = bandwidth_only(8, 4);
    c.nics_per_node = nics;
    for (const Layout& l : layouts_of(32)) {
      // Stages smaller than a node: the hop at the node's border is the slowest.
      if (l.pipeline_parallel_size == 1) continue;
      expect_agreement(Collective::send_recv, Group::pipeline, l, c);
    }
  }
}

// A step of the ring: each rank of a context group hands its piece to the next one at once.
double slowest_hop(const Layout& layout, const Cluster& c) {
  const Topology topology = Topology::of(c);
  std::vector<Traffic> traffic;
  for (const std::vector<int>& ranks : group_ranks(Group::context, layout)) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::size_t next = (i + context_ring_step(layout)) % ranks.size();
      traffic.push_back(send_traffic(topology, ranks[i], ranks[next]));
    }
  }
  double slowest = std::numeric_limits<double>::infinity();
  for (const BytesPerSecond b : concurrent_bus_bandwidth(topology, traffic)) {
    slowest = std::min(slowest, b.value());
  }
  return slowest;
}

double closed_form_hop(const Layout& layout, const Cluster& c) {
  const Placement hop = place_context_hop(layout, c);
  return kPayload / collective_model_time(Collective::send_recv, bytes(kPayload), hop, c).value();
}

TEST(ClosedForms, AHopOfAContextRingHasOneSenderAndOneRail) {
  // 16 ranks over two nodes: one of eight senders a node crosses, with one NIC of 50 GB/s x 0.96.
  const Layout sixteen{.context_parallel_size = 16};
  EXPECT_NEAR(closed_form_hop(sixteen, bandwidth_only(8, 2)), 48e9, 1.0);
  for (const int nics : {0, 4, 1}) {
    Cluster c = bandwidth_only(8, 4);
    c.nics_per_node = nics;
    for (const int tp : {1, 2, 4, 8}) {
      for (int cp = 2; tp * cp <= 32; cp *= 2) {
        const Layout l{.tensor_parallel_size = tp,
                       .data_parallel_size = 32 / tp / cp,
                       .context_parallel_size = cp};
        EXPECT_NEAR(closed_form_hop(l, c) / slowest_hop(l, c), 1.0, 1e-6)
            << "tp " << tp << " cp " << cp << " nics " << nics;
      }
    }
  }
}

TEST(ClosedForms, AHopBelowAnAllToAllPassesItsMembers) {
  // cp 16 as all-to-alls of 8, a node's ranks, and rings of 2 across: all eight send at once.
  Layout l{.context_parallel_size = 16,
           .cp_comm_type = ContextParallelAlgorithm::a2a_p2p,
           .hierarchical_context_parallel_size = 8};
  const Cluster c = bandwidth_only(8, 2);
  EXPECT_NEAR(closed_form_hop(l, c) / slowest_hop(l, c), 1.0, 1e-6);
  // All-to-alls of 2: every second rank of a node is in the same ring of 8; two cross at once.
  l.hierarchical_context_parallel_size = 2;
  EXPECT_NEAR(closed_form_hop(l, c) / slowest_hop(l, c), 1.0, 1e-6);
}

TEST(ClosedForms, NodesThatAreNoPowerOfTwo) {
  // Tensor groups of 2, 3, 4, 6, 12 and data groups beside them, on nodes of 6.
  for (const int tp : {2, 3, 4, 6, 12}) {
    const Cluster c = bandwidth_only(6, 4);
    const Layout l{.tensor_parallel_size = tp, .data_parallel_size = 24 / tp};
    expect_agreement(Collective::all_gather, Group::tensor, l, c);
    expect_agreement(Collective::all_gather, Group::data, l, c);
  }
}

TEST(ClosedForms, IslandsOfTwo) {
  Cluster c = bandwidth_only(8, 2);
  c.node_fabric = NodeFabric::pcie;
  c.intra_node.bandwidth = gigabytes_per_second(32);
  c.nics_per_node = 1;
  c.inter_node.bandwidth = gigabytes_per_second(3.125);
  c.gpus_per_island = 2;
  c.island.bandwidth = gigabytes_per_second(300);
  for (const int tp : {2, 4, 8, 16}) {
    const Layout l{.tensor_parallel_size = tp, .data_parallel_size = 16 / tp};
    expect_agreement(Collective::all_gather, Group::tensor, l, c);
    if (tp < 16) expect_agreement(Collective::all_gather, Group::data, l, c);
  }
}

TEST(ClosedForms, TheDataAxisInsideThePipeline) {
  for (const int nics : {0, 2}) {
    Cluster c = bandwidth_only(8, 8);
    c.nics_per_node = nics;
    for (Layout l : layouts_of(64)) {
      l.rank_order = {Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data};
      if (l.data_parallel_size > 1) expect_agreement(Collective::all_gather, Group::data, l, c);
    }
  }
}

// Traffic of two axes at once per second, each at its fair share, over the traffic of each alone:
// the seconds that the closed forms give for those bytes.
struct Joint {
  double first = 0, second = 0;
};
std::vector<Traffic> traffic_of_group(const Topology& topology, Group group, const Layout& layout) {
  std::vector<Traffic> traffic;
  for (const std::vector<int>& ranks : group_ranks(group, layout)) {
    traffic.push_back(group == Group::pipeline ? send_traffic(topology, ranks[0], ranks[1])
                                               : ring_traffic(topology, ranks));
  }
  return traffic;
}
Joint seconds_alone(Group first, Group second, const Layout& layout, const Cluster& c) {
  const Topology topology = Topology::of(c);
  std::vector<Traffic> traffic = traffic_of_group(topology, first, layout);
  const auto split = static_cast<std::ptrdiff_t>(traffic.size());
  const std::vector<Traffic> other = traffic_of_group(topology, second, layout);
  traffic.insert(traffic.end(), other.begin(), other.end());
  const auto rates = concurrent_bus_bandwidth(topology, traffic);
  const auto alone = [&](Group group, auto begin, auto end) {
    const Collective collective =
        group == Group::pipeline ? Collective::send_recv : Collective::all_gather;
    return std::min_element(begin, end)->value() / closed_form(collective, group, layout, c);
  };
  return {alone(first, rates.begin(), rates.begin() + split),
          alone(second, rates.begin() + split, rates.end())};
}

// Gradients of 8 x 2 data ranks and messages to the next stage leave each node over the same NICs:
// a second of both is the sum of what they would take one after the other.
TEST(JointTraffic, AxesOnOneNicTakeTheSumOfTheirTimes) {
  const Layout l{.tensor_parallel_size = 8, .pipeline_parallel_size = 2, .data_parallel_size = 2};
  for (const int nics : {0, 4, 2, 1}) {
    Cluster c = bandwidth_only(8, 4);
    c.nics_per_node = nics;
    const Joint joint = seconds_alone(Group::data, Group::pipeline, l, c);
    EXPECT_NEAR(joint.first + joint.second, 1.0, 1e-6) << nics;
    EXPECT_NEAR(joint.first, 0.5, 1e-6) << nics;
  }
}

// Tensor ranks gather over NVLink while data ranks reduce over the NICs: neither waits.
TEST(JointTraffic, AxesOnOtherWiresDoNotWait) {
  const Layout l{.tensor_parallel_size = 8, .data_parallel_size = 4};
  const Joint joint = seconds_alone(Group::tensor, Group::data, l, bandwidth_only(8, 4));
  EXPECT_NEAR(joint.first, 1.0, 1e-6);
  EXPECT_NEAR(joint.second, 1.0, 1e-6);
}

}  // namespace
}  // namespace meshwright
