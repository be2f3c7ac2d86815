// SPDX-License-Identifier: Apache-2.0
// Links and clusters as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/number_text.h"
#include "sim/hardware/cluster.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"

namespace meshwright {
namespace {

constexpr PointTable kCollectivePoints{3, 2, "bytes, seconds, relative spread"};
constexpr IntRange kCount{0, 1'000'000};

void read_collective_points(ObjectReader& reader, const std::string& key,
                            std::vector<CollectivePoint>& points) {
  points.clear();
  for (const std::vector<double>& row : read_points(reader, key, kCollectivePoints)) {
    points.push_back({bytes(row[0]), seconds(row[1]), row[2]});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.payload < b.payload; });
}

void write_collective_points(Json& json, const std::string& key,
                             const std::vector<CollectivePoint>& points) {
  Json& rows = json[key] = Json::array();
  for (const CollectivePoint& p : points) {
    rows.push_back(Json::array({p.payload.value(), p.time.value(), p.relative_spread}));
  }
}

const Record<CollectiveCurve>& curve_record() {
  return described([](Record<CollectiveCurve>& r) {
    using C = CollectiveCurve;
    r.about("One measured sweep of a collective over message sizes.");
    r.row<&C::collective>(kCollectiveNames, "Which collective.");
    r.required();
    r.row<&C::group_size>(IntRange{2, 1'000'000}, "Ranks of the group.");
    r.required();
    r.row<&C::ranks_per_node>(kCount, "Ranks of the group on one node; 0: not stated.");
    r.omitted_at_default();
    r.row<&C::groups_per_node>(kCount, "Groups that communicate at once on a node; 0: not stated.");
    r.omitted_at_default();
    r.row<&C::points>(
        Kind<std::vector<CollectivePoint>>{
            {.read = read_collective_points,
             .write = write_collective_points,
             .schema = [] { return points_schema(kCollectivePoints); }}},
        "Bytes of the whole array, seconds of the slowest rank, relative spread.");
    r.required();
  });
}

Record<Link> make_link_record() {
  using L = Link;
  Record<L> r("The link of a device to its neighbours.");
  r.row<&L::name>("Such as NVLink 4 or InfiniBand NDR.");
  r.row<&L::bandwidth>(kind::amount<BytesPerSecond>(kGigabytesPerSecond, kAboveZero),
                       "Bandwidth of a device, one direction.");
  r.required();
  r.row<&L::bandwidth_fraction>(kind::fraction(),
                                "Share of it that large collectives reach in large groups.");
  r.row<&L::ring_end_cost>("Bytes take 1 + this / group as long; an all-reduce pays half of it.");
  r.row<&L::sharp_bandwidth_fraction>(
      NumberRange{0.0, 2.0},
      "Bus bandwidth of all-reduce with in-switch reduction over the link's; 0: none. Up to 2, "
      "as bus bandwidth counts each byte twice and the switch adds it up on one way.");
  r.row<&L::sharp_min_group>(kCount, "Smallest group that reduces in the switch.");
  r.row<&L::deepep_fraction>(
      NumberRange{0.0, 1.0},
      "Share of bandwidth * bandwidth_fraction that DeepEP reaches, measured; absent: its usual "
      "share.");
  r.omitted_at_default();
  r.row<&L::base_latency>(kMicroseconds, "Latency of a call.");
  r.row<&L::latency>(kMicroseconds, "Latency of one step of a ring or tree.");
  r.row<&L::ramp_latency>(kMicroseconds,
                          "Time that medium messages lose, for each doubling of the group.");
  r.row<&L::ramp_bytes>("ramp", kKibibytes, "Message size at which half of it is lost.");
  r.row<&L::provenance>(kProvenanceNames, "Where the numbers come from.");
  r.row<&L::relative_spread>("Error of the model, one standard deviation.");
  r.row<&L::curves>(curve_record, "Measured sweeps; they override the model near themselves.");
  r.omitted_at_default();
  r.check([](const L&, ObjectReader& reader) {
    if (!reader.has("custom_all_reduce")) return;
    reader.fail("custom_all_reduce", "is no longer read: no estimate used it",
                "remove the block; nothing else changes");
  });
  return r;
}

const Record<MachineFit>& machine_fit_record() {
  return described([](Record<MachineFit>& r) {
    using F = MachineFit;
    r.about("Correction factors fitted on runs of this cluster under one framework.");
    r.row<&F::framework>("Framework of these runs.");
    r.required();
    r.row<&F::source>("Where the runs come from.");
    r.required();
    r.row<&F::gemm_time_factor>(kTimeFactor, "Factor on GEMMs and attention.");
    r.row<&F::kernel_time_factor>(kTimeFactor, "Factor on memory-bound kernels and the optimizer.");
    r.row<&F::collective_time_factor>(kTimeFactor, "Factor on collectives.");
    r.row<&F::micro_batch_overhead>(kMicroseconds, "Time added to each micro-batch.");
    r.row<&F::relative_spread>(NumberRange{0.0, 1.0},
                               "What the fit leaves, one standard deviation.");
    r.row<&F::learnt_runs>(kCount, "Runs behind the factors.");
    r.omitted_at_default();
    r.row<&F::sets>("Sets of measured runs behind the factors.");
    r.row<&F::terms>("Names of the factors that were fitted.");
  });
}

const Record<HostPace>& host_pace_record() {
  return described([](Record<HostPace>& r) {
    using H = HostPace;
    r.about("How fast the nodes' hosts launch kernels, seen in runs under one framework.");
    r.row<&H::framework>("Framework of these runs.");
    r.required();
    r.row<&H::source>("Where the runs come from.");
    r.required();
    r.row<&H::expert_launch_time_factor>(
        kTimeFactor, "Factor on the host's time a kernel in layers with experts.");
  });
}

// A measured machine may have no link: nothing was measured between its ranks.
void require_links(const Cluster& c, ObjectReader& reader) {
  const bool measured = c.source.starts_with("measured");
  if (c.gpus_per_node > 1 && !measured) reader.required_object("intra_node");
  if (c.num_nodes > 1 && !measured) reader.required_object("inter_node");
}

// GB200 and GB300 NVL72 have trays of four; no host holds more than 16 devices.
int usual_tray(const Cluster& c) {
  constexpr int kMostOfAHost = 16, kUsualTray = 4;
  const bool rack = c.node_fabric == NodeFabric::nvswitch && c.gpus_per_node > kMostOfAHost;
  return rack && c.gpus_per_node % kUsualTray == 0 ? kUsualTray : 0;
}

void add_size_rows(Record<Cluster>& r) {
  using C = Cluster;
  // Largest number of devices, well within an int.
  constexpr int kMostGpus = 100'000'000;
  r.row<&C::name>("Name of the cluster.");
  r.required();
  r.row<&C::source>("Where the numbers come from, with their date.");
  r.row<&C::device>(kind::object_or_file(device_record),
                    "The device, or the name or path of its file.");
  r.required();
  r.row<&C::gpus_per_node>(IntRange{1, 100'000}, "Devices of a node.");
  r.required();
  r.row<&C::num_nodes>(IntRange{1, 1'000'000}, "Nodes.");
  r.check([](const C& c, ObjectReader& reader) {
    const int most = kMostGpus / c.gpus_per_node;
    if (c.num_nodes <= most) return;
    reader.fail("num_nodes",
                fmt::format("must be an integer from 1 to {} (got {})", most, c.num_nodes));
  });
  r.check(require_links);
}

void add_link_rows(Record<Cluster>& r) {
  using C = Cluster;
  r.row<&C::intra_node>(link_record, "Link inside a node.");
  r.written_if([](const C& c) { return c.intra_node.bandwidth.value() > 0.0; });
  r.row<&C::inter_node>(link_record, "Link between nodes, a device's share of it.");
  r.written_if([](const C& c) { return c.inter_node.bandwidth.value() > 0.0; });
  r.row<&C::gpus_per_island>(
      IntRange{0, 100'000},
      "Neighbours with a faster link than the node's, such as 2 for NVLink bridges; 0: none.");
  r.omitted_at_default();
  r.check([](const C& c, ObjectReader& reader) {
    const int island = c.gpus_per_island, node = c.gpus_per_node;
    if (island > node) {
      reader.fail("gpus_per_island",
                  fmt::format("must be an integer from 0 to {} (got {})", node, island));
    }
    if (island > 0 && node % island != 0) {
      reader.fail("gpus_per_island", "must divide gpus_per_node");
    }
  });
  r.row<&C::island>(link_record, "Link between these neighbours.");
  r.only_if([](const C& c) { return c.gpus_per_island > 0; }).required();
}

void add_node_rows(Record<Cluster>& r) {
  using C = Cluster;
  r.row<&C::node_fabric>(kNodeFabricNames,
                         "What joins the devices of a node; mesh: a link between each two, which "
                         "smaller groups use in part.");
  r.default_from([](C& c) {
    c.node_fabric =
        c.device.kind == DeviceKind::cpu ? NodeFabric::shared_memory : NodeFabric::nvswitch;
  });
  r.row<&C::gpus_per_tray>(
      IntRange{0, 1000},
      "Devices of a compute tray where a node is a rack of trays (NVL72); 0: a node is a host. "
      "Default: 4 in NVLink domains of more than 16 devices.");
  r.default_from([](C& c) { c.gpus_per_tray = usual_tray(c); });
  r.written_if([](const C& c) { return c.gpus_per_tray != usual_tray(c); });
  r.check([](const C& c, ObjectReader& reader) {
    if (c.gpus_per_tray == 0 || c.gpus_per_node % c.gpus_per_tray == 0) return;
    // A part of one tray is a host of its own.
    if (c.gpus_per_node < c.gpus_per_tray && c.num_nodes == 1) return;
    reader.fail("gpus_per_tray", "must divide gpus_per_node");
  });
  r.row<&C::gpus_per_domain>(
      kCount, "Devices of the NVLink domain where gpus_per_node of them are used; 0: all are.");
  r.only_if([](const C& c) { return c.gpus_per_tray > 0; }).omitted_at_default();
  r.check([](const C& c, ObjectReader& reader) {
    if (c.gpus_per_domain == 0 || c.gpus_per_domain >= c.gpus_per_node) return;
    reader.fail("gpus_per_domain", "must be 0 or at least gpus_per_node");
  });
}

void add_network_rows(Record<Cluster>& r) {
  using C = Cluster;
  r.row<&C::network>(kNetworkFabricNames, "How NICs reach the leaf switches.");
  r.row<&C::node_order>(kNodeOrderNames,
                        "How a job's nodes lie on the leaf switches: neighbours (packed), or any "
                        "free ones (random).");
  r.omitted_at_default();
  r.row<&C::nics_per_node>(IntRange{0, 100'000}, "NICs of a node; 0: one a device.");
  r.row<&C::nodes_per_leaf>(IntRange{1, 1'000'000}, "Nodes below one leaf switch.");
  r.row<&C::nodes_per_pod>(kCount, "Nodes below one set of spine switches; 0: one set for all.");
  r.check([](const C& c, ObjectReader& reader) {
    if (c.nodes_per_pod % c.nodes_per_leaf == 0) return;
    reader.fail("nodes_per_pod", "must be a multiple of nodes_per_leaf");
  });
  r.row<&C::spine_oversubscription>(NumberRange{1.0, 1000.0},
                                    "Downlinks over uplinks of a leaf switch.");
  r.check([](const C& c, ObjectReader& reader) {
    const bool by_rail = c.network == NetworkFabric::rail_optimised;
    const int nics = c.nics_per_node == 0 ? c.gpus_per_node : c.nics_per_node;
    const int below = c.nodes_per_leaf * (by_rail ? std::max(1, nics / c.num_rails()) : nics);
    if (c.spine_oversubscription <= below) return;
    reader.fail("spine_oversubscription",
                fmt::format("must be at most {}, the NICs below a leaf switch (got {}): with less "
                            "than one uplink no traffic leaves it",
                            below, number_text(c.spine_oversubscription, 4)));
  });
  r.row<&C::core_oversubscription>(
      NumberRange{1.0, 1000.0}, "Downlinks over uplinks of a spine switch; counts between pods.");
}

// Price, software, corrections and what the cluster does not run.
void add_run_rows(Record<Cluster>& r) {
  using C = Cluster;
  r.row<&C::price_per_gpu_hour>(kind::stated_number(), "Price of a GPU-hour; 0: not stated.");
  r.row<&C::framework>(kind::object_or_file(framework_record),
                       "The training software, or the name or path of its file.");
  r.omitted_at_default();
  r.row<&C::framework_assumed>("The framework is assumed; --framework states it.");
  r.only_if([](const C& c) { return !(c.framework == Framework{}); }).omitted_at_default();
  r.row<&C::fit>(machine_fit_record);
  r.omitted_at_default();
  r.row<&C::host>(host_pace_record);
  r.omitted_at_default();
  r.row<&C::limits>("cannot", limits_kind(), "What does not run over the links, and why.");
  r.omitted_at_default();
  r.row<&C::unproven>(limits_kind(), "What a search leaves out and an answer warns of, and why.");
  r.omitted_at_default();
}

// Defaults of later rows come from earlier ones.
Record<Cluster> make_cluster_record() {
  Record<Cluster> r("Devices and the links between them. Units are in the keys.");
  r.file_of({"meshwright.cluster/1"}, true);
  add_size_rows(r);
  add_link_rows(r);
  add_node_rows(r);
  add_network_rows(r);
  add_run_rows(r);
  return r;
}

}  // namespace

const Record<Link>& link_record() {
  static const Record<Link> record = make_link_record();
  return record;
}

const Record<Cluster>& cluster_record() {
  static const Record<Cluster> record = make_cluster_record();
  return record;
}

Cluster cluster_from_json(const Json& json, const std::string& file, const std::string& pointer) {
  return cluster_record().read(json, file, pointer);
}

Json to_json(const Cluster& cluster) { return cluster_record().write(cluster); }

}  // namespace meshwright
