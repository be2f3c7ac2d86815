// SPDX-License-Identifier: Apache-2.0
// hwloc's `lstopo --of xml`: <object type="PCIDev" pci_type="CLASS [VENDOR:DEVICE] ..."> below the
// bridges that it hangs on, and what the system makes of it as <object type="OSDev">. osdev_type 3
// is an RDMA device (hwloc 1 and 2). It states no line rate of a NIC and no rate between GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <pugixml.hpp>
#include <set>

#include "interop/read_cluster/read_cluster.h"
#include "interop/read_cluster/xml_elements.h"
#include "sim/base/error.h"
#include "sim/hardware/named_device.h"

namespace meshwright::interop {
namespace {

bool is_object(const pugi::xml_node& node, std::string_view type) {
  return node.name() == std::string_view("object") && node.attribute("type").value() == type;
}

std::string_view info_of(const pugi::xml_node& node, std::string_view name) {
  for (const pugi::xml_node& info : node.children("info")) {
    if (info.attribute("name").value() == name) return info.attribute("value").value();
  }
  return "";
}

// "0302 [10de:2330] [10de:16c1] a1" by its class and vendor. A server's console is of other vendors
// (ASPEED, Matrox).
bool is_gpu(const pugi::xml_node& node) {
  if (!is_object(node, "PCIDev")) return false;
  const std::string_view type = node.attribute("pci_type").value();
  constexpr std::array<std::string_view, 4> kClasses{"0300", "0302", "0380", "1200"};
  constexpr std::array<std::string_view, 3> kVendors{"10de", "1002", "1da3"};  // Habana last
  return type.size() > 9 && std::ranges::find(kClasses, type.substr(0, 4)) != kClasses.end() &&
         std::ranges::find(kVendors, type.substr(6, 4)) != kVendors.end();
}
bool is_nvswitch(const pugi::xml_node& node) {
  return is_object(node, "PCIDev") &&
         std::string_view(node.attribute("pci_type").value()).starts_with("0680 [10de:");
}

bool is_rdma_port(const pugi::xml_node& node) {
  if (!is_object(node, "OSDev") || node.attribute("osdev_type").as_int() != 3) return false;
  const std::string_view state = info_of(node, "Port1State");
  return state.empty() || state == "4";  // active
}

// A PCIe switch joins the NIC with a GPU. The host's own bridge ("0-1") joins all.
bool hangs_beside_gpu(const pugi::xml_node& nic) {
  for (pugi::xml_node above = nic.parent(); above; above = above.parent()) {
    if (!is_object(above, "Bridge")) continue;
    if (above.attribute("bridge_type").value() != std::string_view("1-1")) return false;
    if (above.find_node(is_gpu)) return true;
  }
  return false;
}

struct SeenHost {
  int gpus = 0, switches = 0, ports = 0, ports_beside = 0;
  std::set<std::string> models;
};

void see_object(const pugi::xml_node& node, SeenHost& seen) {
  if (is_nvswitch(node)) ++seen.switches;
  if (is_rdma_port(node)) {
    ++seen.ports;
    if (hangs_beside_gpu(node)) ++seen.ports_beside;
  }
  if (!is_gpu(node)) return;
  ++seen.gpus;
  for (const pugi::xml_node& below : node.children("object")) {
    if (const std::string model(info_of(below, "GPUModel")); !model.empty()) {
      seen.models.insert(model);
      return;
    }
  }
  const std::string device(info_of(node, "PCIDevice"));
  if (names_a_chip(device)) seen.models.insert(device);
}

}  // namespace

ClusterFacts read_lstopo(std::string_view text, const std::string& file) {
  SeenHost seen;
  for_each_element(text, file, {"topology", "give the output of `lstopo --of xml`", true},
                   [&seen](const pugi::xml_node& node) { see_object(node, seen); });
  if (seen.gpus == 0) {
    throw InputError(file, "", "holds no GPU on a PCIe bus",
                     "let lstopo see all of the host: `lstopo --whole-io --of xml`");
  }
  ClusterFacts facts;
  facts.gpus_per_host = seen.gpus;
  facts.devices.assign(seen.models.begin(), seen.models.end());
  if (seen.switches > 0) facts.node_fabric = NodeFabric::nvswitch;
  if (seen.ports_beside > 0) {
    facts.nics_per_host = seen.ports_beside;
  } else if (seen.ports > 0) {
    facts.ports_listed = seen.ports;
  }
  if (const int apart = seen.ports - seen.ports_beside; seen.ports_beside > 0 && apart > 0) {
    facts.notes.push_back(nics_apart_note(apart));
  }
  return facts;
}

}  // namespace meshwright::interop
