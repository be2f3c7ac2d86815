// SPDX-License-Identifier: Apache-2.0
// What tools say of a machine, and what it makes of a cluster.
#include "interop/read_cluster/read_cluster.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  const std::string text = fuzz::text_of(data, size);
  fuzz::attempt([&] {
    const interop::ClusterFacts facts = interop::read_cluster_facts(text, "input");
    fuzz::count_kind(facts.tool);
    for (const int devices : {8, 72}) {
      Cluster cluster;
      cluster.gpus_per_node = devices;
      cluster.inter_node.bandwidth = gigabytes_per_second(50);
      const interop::OverlaidCluster made = interop::overlaid(cluster, facts, "input", true);
      fuzz::must_hold(made.cluster.gpus_per_node > 0, "a node has devices");
      fuzz::must_hold(made.cluster.num_nodes > 0, "a cluster has nodes");
    }
  });
  return 0;
}
