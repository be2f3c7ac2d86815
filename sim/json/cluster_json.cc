// SPDX-License-Identifier: Apache-2.0
// Links and clusters as JSON.
#include <algorithm>

#include "sim/base/job.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/device.h"
#include "sim/json/amount_json.h"
#include "sim/json/records.h"
#include "sim/layout/layout.h"

namespace meshwright {
namespace {

constexpr std::string_view kClusterSchema = "meshwright.cluster/1";

CollectiveCurve read_collective_curve(ObjectReader reader) {
  CollectiveCurve curve;
  reader.required_string("collective");
  curve.collective = reader.optional_enum("collective", curve.collective, kCollectiveNames);
  curve.group_size = reader.required_int("group_size", {2, 1'000'000});
  curve.ranks_per_node = reader.optional_int("ranks_per_node", 0, {0, 1'000'000});
  curve.groups_per_node = reader.optional_int("groups_per_node", 0, {0, 1'000'000});
  const Json& rows = reader.required_array("points");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = read_point(reader, rows[i], i, 3, 2, "bytes, seconds, relative spread");
    curve.points.push_back({bytes(row[0]), seconds(row[1]), row[2]});
  }
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const auto& a, const auto& b) { return a.payload < b.payload; });
  reader.finish();
  return curve;
}

Link read_link(ObjectReader reader) {
  const NumberRange fraction{.low = 0.0, .high = 2.0};
  Link l;
  l.name = reader.optional_string("name", "");
  l.bandwidth = bytes_per_second(require_amount(reader, "bandwidth", kGigabytesPerSecond));
  l.bandwidth_fraction =
      reader.optional_number("bandwidth_fraction", l.bandwidth_fraction, {0.0, 2.0, true});
  l.ring_end_cost = reader.optional_number("ring_end_cost", l.ring_end_cost);
  l.sharp_bandwidth_fraction =
      reader.optional_number("sharp_bandwidth_fraction", l.sharp_bandwidth_fraction, fraction);
  l.sharp_min_group = reader.optional_int("sharp_min_group", l.sharp_min_group, {0, 1'000'000});
  l.base_latency = seconds(read_amount(reader, "base_latency", kMicroseconds, 0.0));
  l.latency = seconds(read_amount(reader, "latency", kMicroseconds, 0.0));
  l.ramp_latency = seconds(read_amount(reader, "ramp_latency", kMicroseconds, 0.0));
  l.ramp_bytes = bytes(read_amount(reader, "ramp", kKibibytes, 0.0));
  l.provenance = reader.optional_enum("provenance", l.provenance, kProvenanceNames);
  l.relative_spread = reader.optional_number("relative_spread", l.relative_spread);
  l.curves = read_each<CollectiveCurve>(reader, "curves", read_collective_curve);
  if (reader.has("custom_all_reduce")) {
    reader.fail("custom_all_reduce", "is no longer read: no estimate used it",
                "remove the block; nothing else changes");
  }
  reader.finish();
  return l;
}

Json write_curve(const CollectiveCurve& curve) {
  Json j{{"collective", name_of(curve.collective)}, {"group_size", curve.group_size}};
  if (curve.ranks_per_node > 0) j["ranks_per_node"] = curve.ranks_per_node;
  if (curve.groups_per_node > 0) j["groups_per_node"] = curve.groups_per_node;
  Json& points = j["points"] = Json::array();
  for (const CollectivePoint& p : curve.points) {
    points.push_back(Json::array({p.payload.value(), p.time.value(), p.relative_spread}));
  }
  return j;
}

Json write_link(const Link& l) {
  Json j{{"name", l.name}};
  write_amount(j, "bandwidth", l.bandwidth.value(), kGigabytesPerSecond);
  j["bandwidth_fraction"] = l.bandwidth_fraction;
  j["ring_end_cost"] = l.ring_end_cost;
  j["sharp_bandwidth_fraction"] = l.sharp_bandwidth_fraction;
  j["sharp_min_group"] = l.sharp_min_group;
  write_amount(j, "base_latency", l.base_latency.value(), kMicroseconds);
  write_amount(j, "latency", l.latency.value(), kMicroseconds);
  write_amount(j, "ramp_latency", l.ramp_latency.value(), kMicroseconds);
  write_amount(j, "ramp", l.ramp_bytes.value(), kKibibytes);
  j["provenance"] = name_of(l.provenance);
  j["relative_spread"] = l.relative_spread;
  if (l.curves.empty()) return j;
  Json& curves = j["curves"] = Json::array();
  for (const CollectiveCurve& curve : l.curves) curves.push_back(write_curve(curve));
  return j;
}

MachineFit read_machine_fit(ObjectReader reader) {
  constexpr NumberRange kFactor{0.1, 10.0};
  MachineFit fit;
  fit.framework = reader.required_string("framework");
  fit.source = reader.required_string("source");
  fit.gemm_time_factor = reader.optional_number("gemm_time_factor", 1.0, kFactor);
  fit.kernel_time_factor = reader.optional_number("kernel_time_factor", 1.0, kFactor);
  fit.collective_time_factor = reader.optional_number("collective_time_factor", 1.0, kFactor);
  fit.micro_batch_overhead =
      seconds(read_amount(reader, "micro_batch_overhead", kMicroseconds, 0.0));
  fit.relative_spread = reader.optional_number("relative_spread", 0.0, {0.0, 1.0});
  fit.learnt_runs = reader.optional_int("learnt_runs", 0, {0, 1'000'000});
  fit.sets = reader.optional_strings("sets");
  fit.terms = reader.optional_strings("terms");
  reader.finish();
  return fit;
}

Json write_machine_fit(const MachineFit& fit) {
  Json j{{"framework", fit.framework},
         {"source", fit.source},
         {"gemm_time_factor", fit.gemm_time_factor},
         {"kernel_time_factor", fit.kernel_time_factor},
         {"collective_time_factor", fit.collective_time_factor}};
  write_amount(j, "micro_batch_overhead", fit.micro_batch_overhead.value(), kMicroseconds);
  j["relative_spread"] = fit.relative_spread;
  if (fit.learnt_runs > 0) j["learnt_runs"] = fit.learnt_runs;
  j["sets"] = fit.sets;
  j["terms"] = fit.terms;
  return j;
}

}  // namespace

Cluster cluster_from_json(const Json& json, const std::string& file, const std::string& pointer) {
  ObjectReader reader(json, file, pointer);
  check_schema(reader, kClusterSchema);
  Cluster c;
  c.name = reader.required_string("name");
  c.source = reader.optional_string("source", "");
  c.device = device_from_json(reader.member("device"), file, reader.pointer_to("device"));
  c.gpus_per_node = reader.required_int("gpus_per_node", {1, 100'000});
  // No more devices than an int counts with room to spare.
  constexpr int kMostGpus = 100'000'000;
  c.num_nodes = reader.optional_int("num_nodes", c.num_nodes,
                                    {1, std::min(1'000'000, kMostGpus / c.gpus_per_node)});
  // A measured machine may have no link: nothing was measured between its ranks.
  const bool measured = c.source.starts_with("measured");
  if (c.gpus_per_node > 1 && !measured) reader.required_object("intra_node");
  if (reader.has("intra_node")) c.intra_node = read_link(reader.required_object("intra_node"));
  if (c.num_nodes > 1 && !measured) reader.required_object("inter_node");
  if (reader.has("inter_node")) c.inter_node = read_link(reader.required_object("inter_node"));
  c.gpus_per_island = reader.optional_int("gpus_per_island", 0, {0, c.gpus_per_node});
  if (c.gpus_per_island > 0) {
    if (c.gpus_per_node % c.gpus_per_island != 0) {
      reader.fail("gpus_per_island", "must divide gpus_per_node");
    }
    c.island = read_link(reader.required_object("island"));
  }
  c.node_fabric = reader.optional_enum(
      "node_fabric",
      c.device.kind == DeviceKind::cpu ? NodeFabric::shared_memory : NodeFabric::nvswitch,
      kNodeFabricNames);
  c.network = reader.optional_enum("network", c.network, kNetworkFabricNames);
  c.nics_per_node = reader.optional_int("nics_per_node", c.nics_per_node, {0, 100'000});
  c.nodes_per_leaf = reader.optional_int("nodes_per_leaf", c.nodes_per_leaf, {1, 1'000'000});
  c.nodes_per_pod = reader.optional_int("nodes_per_pod", c.nodes_per_pod, {0, 1'000'000});
  if (c.nodes_per_pod % c.nodes_per_leaf != 0) {
    reader.fail("nodes_per_pod", "must be a multiple of nodes_per_leaf");
  }
  c.spine_oversubscription = reader.optional_number("spine_oversubscription",
                                                    c.spine_oversubscription, {1.0, 1000.0, false});
  c.core_oversubscription = reader.optional_number("core_oversubscription", c.core_oversubscription,
                                                   {1.0, 1000.0, false});
  c.price_per_gpu_hour = reader.stated_number("price_per_gpu_hour");
  if (reader.has("framework")) {
    c.framework =
        framework_from_json(reader.member("framework"), file, reader.pointer_to("framework"));
    c.framework_assumed = reader.optional_bool("framework_assumed", false);
  }
  if (reader.has("fit")) c.fit = read_machine_fit(reader.required_object("fit"));
  reader.finish();
  return c;
}

Json to_json(const Cluster& c) {
  Json j{{"schema", kClusterSchema}, {"name", c.name}, {"source", c.source}};
  j["device"] = to_json(c.device);
  j["gpus_per_node"] = c.gpus_per_node;
  j["num_nodes"] = c.num_nodes;
  if (c.intra_node.bandwidth.value() > 0.0) j["intra_node"] = write_link(c.intra_node);
  if (c.inter_node.bandwidth.value() > 0.0) j["inter_node"] = write_link(c.inter_node);
  if (c.gpus_per_island > 0) {
    j["gpus_per_island"] = c.gpus_per_island;
    j["island"] = write_link(c.island);
  }
  j["node_fabric"] = name_of(c.node_fabric);
  j["network"] = name_of(c.network);
  j["nics_per_node"] = c.nics_per_node;
  j["nodes_per_leaf"] = c.nodes_per_leaf;
  j["nodes_per_pod"] = c.nodes_per_pod;
  j["spine_oversubscription"] = c.spine_oversubscription;
  j["core_oversubscription"] = c.core_oversubscription;
  j["price_per_gpu_hour"] = c.price_per_gpu_hour.value_or(0.0);
  if (!(c.framework == Framework{})) {
    j["framework"] = to_json(c.framework);
    if (c.framework_assumed) j["framework_assumed"] = true;
  }
  if (!(c.fit == MachineFit{})) j["fit"] = write_machine_fit(c.fit);
  return j;
}

}  // namespace meshwright
