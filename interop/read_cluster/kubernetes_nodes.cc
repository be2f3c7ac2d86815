// SPDX-License-Identifier: Apache-2.0
// `kubectl get nodes -o json`: GPUs that the device plugin offers (nvidia.com/gpu, amd.com/gpu),
// and labels of GPU feature discovery. gpu.product names the chip, gpu.clique an NVLink domain that
// spans hosts.
#include <cstdlib>

#include "interop/read_cluster/host_tally.h"
#include "interop/read_cluster/network_tree.h"
#include "interop/read_cluster/read_cluster.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"

namespace meshwright::interop {
namespace {

// The member, or null.
const Json& node_member(const Json& json, const char* key) {
  static const Json none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

std::string node_text(const Json& json, const char* key) {
  const Json& value = node_member(json, key);
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

bool node_is_ready(const Json& node) {
  if (node_text(node_member(node, "spec"), "unschedulable") == "true") return false;
  for (const Json& condition : node_member(node_member(node, "status"), "conditions")) {
    if (node_text(condition, "type") == "Ready") return node_text(condition, "status") == "True";
  }
  return true;
}

HostGpus node_gpus(const Json& node) {
  const Json& labels = node_member(node_member(node, "metadata"), "labels");
  const Json& offered = node_member(node_member(node, "status"), "allocatable");
  std::string product = node_text(labels, "nvidia.com/gpu.product");
  if (product.empty()) product = node_text(labels, "amd.com/gpu.product-name");
  HostGpus host;
  if (!offered.is_object()) return host;
  for (const auto& [key, value] : offered.items()) {
    const bool whole = key == "nvidia.com/gpu" || key == "amd.com/gpu";
    if (!whole && !key.starts_with("nvidia.com/mig-")) continue;
    host.add(whole ? product : key, std::atol(node_text(offered, key.c_str()).c_str()));
  }
  return host;
}

}  // namespace

ClusterFacts read_kubernetes_nodes(std::string_view text, const std::string& file) {
  const Json document = parse_json(std::string(text), file);
  Json single = Json::array({document});
  const Json& nodes =
      node_member(document, "items").is_array() ? node_member(document, "items") : single;
  HostTally tally;
  NetworkTree tree;
  for (const Json& node : nodes) {
    const HostGpus gpus = node_gpus(node);
    const bool up = node_is_ready(node);
    tally.add(1, gpus, up);
    if (!up || gpus.gpus.empty() || gpus.slices > 0) continue;
    const Json& labels = node_member(node_member(node, "metadata"), "labels");
    tree[node_text(node_member(node, "metadata"), "name")].domain =
        node_text(labels, "nvidia.com/gpu.clique");
  }
  ClusterFacts facts =
      tally.facts(file, "give the nodes of one kind: kubectl get nodes -l LABEL=VALUE -o json");
  const ClusterFacts wired = facts_of(tree);
  facts.hosts_per_domain = wired.hosts_per_domain;
  facts.notes.insert(facts.notes.end(), wired.notes.begin(), wired.notes.end());
  return facts;
}

}  // namespace meshwright::interop
