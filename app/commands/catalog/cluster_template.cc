// SPDX-License-Identifier: Apache-2.0
#include "app/commands/catalog/cluster_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "app/files/config_names.h"
#include "app/files/files.h"
#include "sim/base/error.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"

namespace meshwright::app {
namespace {

constexpr std::size_t kWidth = 96;
constexpr double kBitsPerByte = 8.0;
constexpr double kCommonNicGbit = 400.0;

// Places where users find the value of a key. The record has the meaning of the key.
const std::map<std::string_view, std::string_view>& places() {
  static const std::map<std::string_view, std::string_view> all{
      {"schema", "Kind and version of this file; leave it as it is."},
      {"name", "Any text; reports show it."},
      {"source", "Write who measured or stated the numbers, and when."},
      {"device", "nvidia-smi -L names it; `ls configs/hardware` shows the shipped ones."},
      {"gpus_per_node", "nvidia-smi -L on one node lists them."},
      {"num_nodes", "sinfo (Slurm), or your contract."},
      {"gpus_per_island",
       "nvidia-smi topo -m: devices joined by NV# where others have PIX or SYS."},
      {"node_fabric",
       "nvidia-smi topo -m: NV# between all devices is nvswitch; PIX, PHB and SYS are "
       "pcie."},
      {"gpus_per_tray", "nvidia-smi -L on one compute tray of a rack; 0 for servers."},
      {"gpus_per_domain", "The rack's size, where your job gets a part of it; else 0."},
      {"network", "Your network plan: whether NIC 1 of all nodes meets on one switch (rails)."},
      {"nics_per_node",
       "ibstat -l, or ls /sys/class/infiniband; count those of the GPUs' network."},
      {"nodes_per_leaf", "Your network plan; ibnetdiscover shows it."},
      {"nodes_per_pod", "Your network plan; 0 if you do not know it."},
      {"spine_oversubscription", "Your network plan; 1 is a network without a bottleneck."},
      {"core_oversubscription", "Your network plan; 1 is a network without a bottleneck."},
      {"price_per_gpu_hour", "Your contract; --price states another."},
      {"intra_node.bandwidth_gb_per_s",
       "Datasheet of the device: half of what it states for both directions together."},
      {"inter_node.bandwidth_gb_per_s",
       "ibstat: rate of a NIC in Gbit/s / 8 x NICs of a node / devices of a node."},
      {"bandwidth_fraction",
       "nccl-tests all_reduce_perf -b 1G -e 4G: busbw / bandwidth. meshwright calibrate measures "
       "it."},
      {"ring_end_cost", "meshwright calibrate fits it; 0 if you do not know it."},
      {"sharp_bandwidth_fraction",
       "nccl-tests all_reduce_perf with NCCL_ALGO=NVLS: busbw / bandwidth."},
      {"sharp_min_group", "nccl-tests with 2, 4 and 8 devices: from where NVLS is faster."},
      {"base_latency_us",
       "nccl-tests with 8 bytes on two devices. meshwright calibrate measures it."},
      {"latency_us", "nccl-tests with 8 bytes: what each device more adds, / 2 for all_reduce."},
      {"ramp_latency_us", "meshwright calibrate fits it; 0 if you do not know it."},
      {"ramp_kib", "meshwright calibrate fits it; 0 if you do not know it."},
      {"provenance", "measured once you measured the link, else datasheet or assumed."},
      {"relative_spread", "0.05 for your own measurement, 0.3 and more for a guess."}};
  return all;
}

std::string place_of(const std::string& path, const std::string& key) {
  for (const std::string& name : {path + key, key}) {
    const auto found = places().find(name);
    if (found != places().end()) return std::string(found->second);
  }
  return "";
}

std::string_view unit_of(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kUnits{
      {{"_gb_per_s", "Unit: GB/s, 10^9 bytes a second."},
       {"_us", "Unit: microseconds."},
       {"_kib", "Unit: KiB."},
       {"_fraction", "A share, without unit."},
       {"_gpu_hour", "Unit: your currency."}}};
  for (const auto& [suffix, unit] : kUnits) {
    if (key.ends_with(suffix)) return unit;
  }
  return "";
}

std::string comment(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string all, line, word;
  while (words >> word) {
    if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
      all += indent + "// " + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return all + indent + "// " + line + "\n";
}

std::string comment_of(const Json& property, const std::string& path, const std::string& key) {
  std::string text;
  const auto add = [&](std::string_view sentence) {
    if (sentence.empty()) return;
    text.append(text.empty() ? "" : " ").append(sentence);
  };
  if (property.contains("description")) add(property["description"].get<std::string>());
  add(unit_of(key));
  if (property.contains("enum")) add(fmt::format("One of {}.", fmt::join(property["enum"], ", ")));
  add(place_of(path, key));
  return text;
}

std::string commented(const Json& json, const Json& schema, const std::string& path,
                      const std::string& indent) {
  std::string text = "{\n";
  std::size_t left = json.size();
  for (const auto& [key, value] : json.items()) {
    const Json& property = schema["properties"][key];
    text += comment(comment_of(property, path, key), indent);
    text += fmt::format("{}\"{}\": ", indent, key);
    text += value.is_object() ? commented(value, property, key + ".", indent + "  ") : value.dump();
    text += --left > 0 ? ",\n" : "\n";
  }
  return text + indent.substr(2) + "}";
}

// The shipped cluster of this device: with as many devices a node if there is one, named after the
// chip before a provider's, and with the shortest name.
std::optional<Cluster> shipped_cluster(const Device& device, const std::string& chip,
                                       std::optional<int> gpus_per_node, std::string& name) {
  std::optional<Cluster> best;
  const auto rank = [&](const Cluster& cluster, const std::string& of) {
    return std::tuple(gpus_per_node && cluster.gpus_per_node != *gpus_per_node,
                      !of.starts_with(chip), of.size(), of);
  };
  for (const std::string& tried : config_names("clusters")) {
    Cluster cluster = load_cluster(tried);
    if (only_device(cluster).name != device.name) continue;
    if (best && rank(*best, name) < rank(cluster, tried)) continue;
    best = std::move(cluster);
    name = tried;
  }
  return best;
}

// Kind of network between nodes. Its share and latencies are those of the shipped cluster `like`.
struct Fabric {
  std::string_view name, label, like;
  bool measured;  // false: no such network was measured, and `like` has RoCE
};
constexpr std::array kFabrics{Fabric{"infiniband", "InfiniBand", "h100-512", true},
                              Fabric{"roce", "RoCE", "mi300x-512", true},
                              Fabric{"ethernet", "Ethernet without RDMA", "gcp-a3-mega", true},
                              Fabric{"efa", "EFA", "aws-p5", true},
                              Fabric{"spectrum-x", "Spectrum-X", "mi300x-512", false},
                              Fabric{"ualink", "UALink", "mi300x-512", false},
                              Fabric{"slingshot", "Slingshot", "gh200-alps-512", true}};

// Takes the link between nodes, and what software cannot do over it.
void set_fabric(const Fabric& fabric, Cluster& cluster) {
  const Cluster like = load_cluster(std::string(fabric.like));
  cluster.inter_node = like.inter_node;
  cluster.network = like.network;
  cluster.limits = like.limits;
  cluster.unproven = like.unproven;
  if (fabric.measured) return;
  constexpr double kUnmeasuredSpread = 0.5;
  cluster.inter_node.provenance = Provenance::assumed;
  cluster.inter_node.relative_spread = kUnmeasuredSpread;
}

void set_switches(const ClusterStart& start, Cluster& cluster) {
  cluster.nodes_per_leaf = start.leaf_nodes.value_or(cluster.nodes_per_leaf);
  cluster.spine_oversubscription = start.oversubscription;
  if (start.rails) {
    if (*start.rails != 1 && *start.rails != cluster.nics_per_node) {
      throw InputError("--rails", "",
                       fmt::format("must be 1 or the number of NICs, {} (got {})",
                                   cluster.nics_per_node, *start.rails),
                       "1 puts all NICs of a node on one leaf switch");
    }
    cluster.network = *start.rails == 1 ? NetworkFabric::fat_tree : NetworkFabric::rail_optimised;
  }
  if (start.oversubscription > 1.0 && cluster.num_leaf_blocks() == 1) {
    throw InputError("--oversubscription", "",
                     fmt::format("all {} nodes are below one leaf switch of {} nodes: no traffic "
                                 "passes its uplinks",
                                 cluster.num_nodes, cluster.nodes_per_leaf),
                     "state --leaf-nodes, the nodes below one leaf switch, and --num-nodes");
  }
}

// Shares and latencies of the shipped PCIe boxes and networks.
Cluster without_shipped(const Device& device) {
  Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.node_fabric = NodeFabric::pcie;
  cluster.intra_node.name = "PCIe";
  cluster.intra_node.bandwidth = device.host_link;
  cluster.intra_node.bandwidth_fraction = 0.42;
  cluster.intra_node.base_latency = seconds(9e-6);
  cluster.intra_node.latency = seconds(5e-6);
  cluster.intra_node.relative_spread = 0.5;
  cluster.inter_node.bandwidth_fraction = 0.96;
  cluster.inter_node.base_latency = seconds(20e-6);
  cluster.inter_node.latency = seconds(14e-6);
  cluster.inter_node.ramp_latency = seconds(70e-6);
  cluster.inter_node.ramp_bytes = mebibytes(4);
  cluster.inter_node.relative_spread = 0.5;
  cluster.intra_node.provenance = cluster.inter_node.provenance = Provenance::assumed;
  return cluster;
}

}  // namespace

std::vector<std::string> fabric_names() {
  std::vector<std::string> names;
  for (const Fabric& fabric : kFabrics) names.emplace_back(fabric.name);
  return names;
}

std::string cluster_template(const ClusterStart& start) {
  const std::string file = require_config(start.device, "hardware");
  const Device device = device_from_json(read_json_file(file), file);
  const std::string stem = std::filesystem::path(file).stem().string();
  std::string base;
  const std::optional<Cluster> shipped =
      shipped_cluster(device, stem.substr(0, stem.find('-')), start.gpus_per_node, base);
  Cluster cluster = shipped ? *shipped : without_shipped(device);
  only_device(cluster) = device;
  cluster.framework = {};
  cluster.framework_assumed = false;
  cluster.host = {};  // of the shipped cluster's nodes
  cluster.gpus_per_node = start.gpus_per_node.value_or(cluster.gpus_per_node);
  cluster.num_nodes = start.num_nodes.value_or(1);
  if (cluster.gpus_per_tray > 0 && cluster.gpus_per_node % cluster.gpus_per_tray != 0) {
    cluster.gpus_per_tray = 0;
  }
  cluster.nics_per_node = start.nics.value_or(cluster.gpus_per_node);
  if (cluster.gpus_per_island > 0 && cluster.gpus_per_node % cluster.gpus_per_island != 0) {
    cluster.gpus_per_island = 0;
  }
  const auto* const fabric = std::find_if(kFabrics.begin(), kFabrics.end(), [&](const Fabric& one) {
    return one.name == start.fabric;
  });
  const bool has_fabric = fabric != kFabrics.end();
  if (has_fabric) set_fabric(*fabric, cluster);
  set_switches(start, cluster);
  const double gbit = start.nic_gbit.value_or(kCommonNicGbit);
  cluster.inter_node.name =
      fmt::format("{}{} x {:g} Gb/s", has_fabric ? fmt::format("{}, ", fabric->label) : "",
                  cluster.nics_per_node, gbit);
  cluster.inter_node.bandwidth =
      gigabytes_per_second(gbit / kBitsPerByte * cluster.nics_per_node / cluster.gpus_per_node);
  cluster.name = fmt::format("{} x {} x {}", cluster.num_nodes, cluster.gpus_per_node, device.name);
  cluster.source = fmt::format(
      "Written by `meshwright cluster new`. Link inside a node: {}. Between nodes: NIC line rate; "
      "latencies and shares {}. Nothing here was measured on this cluster.",
      shipped ? fmt::format("as the shipped cluster {}", base) : "PCIe, assumed",
      has_fabric
          ? fmt::format("{} the shipped cluster {}",
                        fabric->measured ? "as" : "not measured, assumed as RoCE of", fabric->like)
      : shipped ? "as there"
                : "assumed");
  Json json = to_json(cluster);
  const bool bare = start.device.find('/') == std::string::npos && !start.device.ends_with(".json");
  json["device"] = bare ? start.device : std::filesystem::absolute(file).string();
  return comment(
             "A cluster. Use it with `meshwright plan --model MODEL --cluster THIS_FILE`. Text "
             "behind // is a comment. A field that you do not know may be deleted if a default "
             "exists: `meshwright schema cluster` lists what is required.",
             "") +
         commented(json, cluster_record().schema(), "", "  ") + "\n";
}

}  // namespace meshwright::app
