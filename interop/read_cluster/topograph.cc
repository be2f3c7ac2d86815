// SPDX-License-Identifier: Apache-2.0
// topograph's graph (docs/engines/graph.md): {"instances": [{"id", "network_layers": [the nearest
// switch first], "labels": {"accelerator.topograph.run/domain": NVLink domain}}]}.
#include <fmt/format.h>

#include "interop/read_cluster/hostlist.h"
#include "interop/read_cluster/network_tree.h"
#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"
#include "sim/record/reader.h"

namespace meshwright::interop {
namespace {

constexpr const char* kDomain = "accelerator.topograph.run/domain";

}  // namespace

ClusterFacts read_topograph(std::string_view text, const std::string& file) {
  const Json json = parse_json(std::string(text), file);
  ObjectReader document(json, file);
  const Json& instances = document.required_array("instances");
  if (instances.size() > kMostHosts) document.fail("instances", "holds more than 100,000 hosts");
  NetworkTree tree;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    const std::string pointer = fmt::format("/instances/{}", i);
    ObjectReader instance(instances[i], file, pointer);
    HostPlace& place = tree[instance.required_string("id")];
    place.switches = instance.optional_strings("network_layers");
    if (!instance.has("labels")) continue;
    ObjectReader labels = instance.required_object("labels");
    place.domain = labels.optional_string(kDomain, "");
  }
  if (tree.empty()) document.fail("instances", "names no hosts");
  return facts_of(tree);
}

}  // namespace meshwright::interop
