// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/traffic.h"

#include <algorithm>
#include <limits>

#include "sim/base/error.h"

namespace meshwright {
namespace {

// Members of each node, in the group's order.
std::vector<std::vector<int>> by_node(const Topology& topology, std::span<const int> devices) {
  std::vector<std::vector<int>> nodes;
  int last = -1;
  for (const int device : devices) {
    const int node = topology.wiring().parts[static_cast<std::size_t>(device)].node;
    if (node != last) nodes.emplace_back();
    last = node;
    nodes.back().push_back(device);
  }
  return nodes;
}

// Loads of one wire added up.
Stream merged(std::vector<DirectedWire> wires, double load) {
  std::sort(wires.begin(), wires.end());
  Stream stream;
  for (const DirectedWire wire : wires) {
    if (!stream.empty() && stream.back().wire == wire) {
      stream.back().load += load;
    } else {
      stream.push_back({wire, load});
    }
  }
  return stream;
}

void append(std::vector<DirectedWire>& wires, const std::vector<DirectedWire>& route) {
  wires.insert(wires.end(), route.begin(), route.end());
}

// One channel: into each node at member `channel`, through the others, on to the next node.
void append_channel(const Topology& topology, const std::vector<std::vector<int>>& nodes,
                    std::size_t channel, std::vector<DirectedWire>& wires) {
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::vector<int>& here = nodes[n];
    const std::vector<int>& next = nodes[(n + 1) % nodes.size()];
    int at = here[channel % here.size()];
    for (std::size_t i = 1; i < here.size(); ++i) {
      const int to = here[(channel + i) % here.size()];
      append(wires, topology.route(at, to));
      at = to;
    }
    append(wires, topology.route(at, next[channel % next.size()]));
  }
}

}  // namespace

Traffic ring_traffic(const Topology& topology, std::span<const int> devices) {
  invariant(devices.size() >= 2, "a ring of fewer than two devices");
  const auto nodes = by_node(topology, devices);
  std::size_t channels = nodes.size() == 1 ? 1 : devices.size();
  for (const auto& node : nodes) channels = std::min(channels, node.size());
  std::vector<DirectedWire> wires;
  for (std::size_t c = 0; c < channels; ++c) append_channel(topology, nodes, c, wires);
  return {merged(std::move(wires), 1.0), static_cast<double>(channels)};
}

Traffic all_to_all_traffic(const Topology& topology, std::span<const int> devices) {
  invariant(devices.size() >= 2, "an all-to-all of fewer than two devices");
  std::vector<DirectedWire> wires;
  for (const int from : devices) {
    for (const int to : devices) append(wires, topology.route(from, to));
  }
  const double peers = static_cast<double>(devices.size()) - 1.0;
  return {merged(std::move(wires), 1.0), peers};
}

Traffic send_traffic(const Topology& topology, int from, int to) {
  return {merged(topology.route(from, to), 1.0), 1.0};
}

std::vector<BytesPerSecond> concurrent_bus_bandwidth(const Topology& topology,
                                                     std::span<const Traffic> traffic) {
  std::vector<Stream> streams;
  streams.reserve(traffic.size());
  for (const Traffic& t : traffic) streams.push_back(t.stream);
  std::vector<BytesPerSecond> rates = max_min_rates(topology.sustained(), streams);
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = rates[i] * traffic[i].channels;
  return rates;
}

std::vector<double> wire_use(const Topology& topology, std::span<const Traffic> traffic) {
  const std::vector<BytesPerSecond> wires = topology.sustained();
  const std::vector<BytesPerSecond> rates = concurrent_bus_bandwidth(topology, traffic);
  std::vector<double> use(wires.size(), 0.0);
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    const BytesPerSecond rate = rates[i] / traffic[i].channels;
    for (const WireLoad& w : traffic[i].stream) {
      use[static_cast<std::size_t>(w.wire)] +=
          w.load * (rate / wires[static_cast<std::size_t>(w.wire)]);
    }
  }
  return use;
}

}  // namespace meshwright
