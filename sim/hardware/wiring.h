// SPDX-License-Identifier: Apache-2.0
// The parts of a cluster and the wires between them, written down from its record: the generators
// of DGX and HGX nodes, NVLink domains, PCIe boxes, NVLink islands, one machine's cores, and the
// rail-optimised or plain fat tree above them.
//
// A vertex of a leaf, spine or core level stands for the switches of that level that share their
// load evenly (equal-cost paths); over-subscription narrows the wire above it. A wire has two
// directions of the same speed.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"
#include "sim/hardware/cluster.h"

namespace meshwright {

enum class PartKind { device, island, node_switch, pcie_switch, nic, leaf, spine, core };
enum class WireKind { island, node, pcie, nic, leaf_up, spine_up };
inline constexpr std::array kWireKindNames{EnumName{WireKind::island, "island link"},
                                           EnumName{WireKind::node, "node link"},
                                           EnumName{WireKind::pcie, "PCIe"},
                                           EnumName{WireKind::nic, "NIC"},
                                           EnumName{WireKind::leaf_up, "leaf up-link"},
                                           EnumName{WireKind::spine_up, "spine up-link"}};
constexpr std::string_view name_of(WireKind v) { return name_in(kWireKindNames, v); }

struct Part {
  PartKind kind = PartKind::device;
  std::string name;
  int node = -1;  // -1: above the nodes
};

struct Wire {
  WireKind kind = WireKind::node;
  int from = 0, to = 0;      // parts; `to` is nearer to the core
  BytesPerSecond bandwidth;  // each direction, as on the datasheet
  BytesPerSecond sustained;  // rate of large collectives
  Seconds latency;
};

// Wires of one device; -1 where there is none.
struct DeviceWires {
  int node = -1;    // to the node's switch
  int island = -1;  // to its island (of two: straight to the partner)
  int pcie = -1;    // to the PCIe switch of its rail
};

struct Wiring {
  std::vector<Part> parts;
  std::vector<Wire> wires;
  std::vector<DeviceWires> devices;  // part i is device i
  std::vector<int> rail_nic;         // node-major: the NIC part of (node, rail); empty: one node
  std::vector<int> uplink;           // index of each part's link towards the core; -1: none
};

Wiring wiring_of(const Cluster& cluster);

}  // namespace meshwright
