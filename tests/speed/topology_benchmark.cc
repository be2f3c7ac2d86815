// SPDX-License-Identifier: Apache-2.0
// How long the graph of 16,384 devices below a three-level fat tree takes to write down, and the
// fair shares of all data-parallel rings, or of one ring over all devices.
#include <benchmark/benchmark.h>

#include <vector>

#include "sim/hardware/placement.h"
#include "sim/hardware/traffic.h"

namespace meshwright {
namespace {

// 2048 nodes of 8, 32 nodes a leaf, 512 a pod, up-links narrowed twice at each level.
Cluster sixteen_thousand() {
  Cluster c;
  c.gpus_per_node = 8;
  c.num_nodes = 2048;
  c.intra_node.bandwidth = gigabytes_per_second(450);
  c.inter_node.bandwidth = gigabytes_per_second(50);
  c.network = NetworkFabric::fat_tree;
  c.nodes_per_leaf = 32;
  c.nodes_per_pod = 512;
  c.spine_oversubscription = 2.0;
  c.core_oversubscription = 2.0;
  return c;
}

void write_down_the_graph(benchmark::State& state) {
  const Cluster c = sixteen_thousand();
  for (auto _ : state) benchmark::DoNotOptimize(Topology::of(c).num_edges());
}
BENCHMARK(write_down_the_graph)->Unit(benchmark::kMillisecond);

// The whole answer: graph, routes, fair shares.
void share_between_groups(benchmark::State& state, const Layout& layout, Group group) {
  const Cluster c = sixteen_thousand();
  for (auto _ : state) {
    const Topology topology = Topology::of(c);
    std::vector<Traffic> traffic;
    for (const auto& ranks : group_ranks(group, layout)) {
      traffic.push_back(ring_traffic(topology, ranks));
    }
    benchmark::DoNotOptimize(concurrent_bus_bandwidth(topology, traffic));
  }
}
BENCHMARK_CAPTURE(share_between_groups, data_rings_of_tp8_pp16,
                  Layout{.tensor_parallel_size = 8,
                         .pipeline_parallel_size = 16,
                         .data_parallel_size = 128},
                  Group::data)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(share_between_groups, tensor_rings_of_tp16,
                  Layout{.tensor_parallel_size = 16, .data_parallel_size = 1024}, Group::tensor)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(share_between_groups, one_ring_over_all, Layout{.data_parallel_size = 16384},
                  Group::data)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace meshwright
