// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/topology.h"

#include <algorithm>
#include <utility>

// g++ 12 with sanitizers takes Boost's empty optional for an uninitialised one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#pragma GCC diagnostic pop

#include "sim/base/error.h"

namespace meshwright {
namespace {

struct Edge {
  double bandwidth = 0.0;  // bytes a second, each direction
};
using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property, Edge>;
using VertexId = boost::graph_traits<Graph>::vertex_descriptor;

using FlowTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Arc {
  std::int64_t capacity = 0;
  std::int64_t residual = 0;
  FlowTraits::edge_descriptor reverse;
};
using FlowGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Arc>;

void add_arc(FlowGraph& graph, VertexId from, VertexId to, std::int64_t capacity) {
  const auto there = boost::add_edge(from, to, Arc{capacity, 0, {}}, graph).first;
  const auto back = boost::add_edge(to, from, Arc{}, graph).first;
  graph[there].reverse = back;
  graph[back].reverse = there;
}

}  // namespace

struct Topology::Impl {
  Wiring wiring;
  int gpus_per_node = 1;
  int gpus_per_island = 1;
  std::vector<int> rail_of;  // device of a node -> rail
  int num_rails = 1;
  Graph graph;

  [[nodiscard]] int num_devices() const { return static_cast<int>(wiring.devices.size()); }
  [[nodiscard]] const DeviceWires& wires(int device) const {
    return wiring.devices[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] double link_rate(VertexId vertex) const {
    double sum = 0.0;
    const auto [begin, end] = boost::out_edges(vertex, graph);
    for (auto it = begin; it != end; ++it) sum += graph[*it].bandwidth;
    return sum;
  }
  [[nodiscard]] int rail(int device) const {
    return rail_of[static_cast<std::size_t>(device % gpus_per_node)];
  }
  [[nodiscard]] int nic(int device) const {
    return wiring
        .rail_nic[static_cast<std::size_t>(device / gpus_per_node) * num_rails + rail(device)];
  }
};

Topology::Topology(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Topology::~Topology() = default;
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;

Topology Topology::of(const Cluster& cluster) {
  auto impl = std::make_unique<Impl>();
  impl->wiring = wiring_of(cluster);
  impl->gpus_per_node = cluster.gpus_per_node;
  impl->gpus_per_island = std::max(1, cluster.gpus_per_island);
  impl->num_rails = cluster.num_rails();
  for (int i = 0; i < cluster.gpus_per_node; ++i) impl->rail_of.push_back(cluster.rail_of(i));
  impl->graph = Graph(impl->wiring.parts.size());
  for (const Wire& wire : impl->wiring.wires) {
    boost::add_edge(static_cast<VertexId>(wire.from), static_cast<VertexId>(wire.to),
                    Edge{wire.bandwidth.value()}, impl->graph);
  }
  return Topology(std::move(impl));
}

const Wiring& Topology::wiring() const { return impl_->wiring; }
int Topology::num_devices() const { return impl_->num_devices(); }
std::size_t Topology::num_vertices() const { return boost::num_vertices(impl_->graph); }
std::size_t Topology::num_edges() const { return boost::num_edges(impl_->graph); }

BytesPerSecond Topology::bisection_bandwidth() const {
  const std::size_t n = num_vertices(), half = impl_->wiring.devices.size() / 2;
  if (half == 0) return {};
  FlowGraph flow(n + 2);
  const VertexId source = n, sink = n + 1;
  // Whole kilobytes a second: push-relabel wants integers, and sums must not overflow.
  constexpr double kUnit = 1e3;
  const auto capacity = [](double rate) { return static_cast<std::int64_t>(rate / kUnit); };
  const auto [begin, end] = boost::edges(impl_->graph);
  for (auto it = begin; it != end; ++it) {
    const std::int64_t rate = capacity(impl_->graph[*it].bandwidth);
    const VertexId a = boost::source(*it, impl_->graph), b = boost::target(*it, impl_->graph);
    add_arc(flow, a, b, rate);
    add_arc(flow, b, a, rate);
  }
  // A device cannot send more than its own links carry.
  for (std::size_t i = 0; i < 2 * half; ++i) {
    const VertexId device = i;
    const std::int64_t rate = capacity(impl_->link_rate(device));
    if (i < half) {
      add_arc(flow, source, device, rate);
    } else {
      add_arc(flow, device, sink, rate);
    }
  }
  const std::int64_t total = boost::push_relabel_max_flow(
      flow, source, sink, boost::get(&Arc::capacity, flow), boost::get(&Arc::residual, flow),
      boost::get(&Arc::reverse, flow), boost::get(boost::vertex_index, flow));
  return bytes_per_second(static_cast<double>(total) * kUnit);
}

namespace {

DirectedWire up(int wire) { return 2 * wire; }
DirectedWire down(int wire) { return 2 * wire + 1; }

// From a NIC up to where the way to the other NIC parts, and down to that.
void append_network(const Wiring& w, int from, int to, std::vector<DirectedWire>& route) {
  std::vector<DirectedWire> descent;
  while (from != to) {
    const int ascent = w.uplink[static_cast<std::size_t>(from)];
    const int back = w.uplink[static_cast<std::size_t>(to)];
    route.push_back(up(ascent));
    descent.push_back(down(back));
    from = w.wires[static_cast<std::size_t>(ascent)].to;
    to = w.wires[static_cast<std::size_t>(back)].to;
  }
  route.insert(route.end(), descent.rbegin(), descent.rend());
}

// The wire between a NIC and the PCIe switch or root below it is the next after the NIC's own.
int below_nic(const Wiring& w, int nic) { return w.uplink[static_cast<std::size_t>(nic)] + 1; }

}  // namespace

std::vector<DirectedWire> Topology::route(int from, int to) const {
  const Impl& t = *impl_;
  if (from == to) return {};
  const DeviceWires &a = t.wires(from), &b = t.wires(to);
  if (a.island >= 0 && from / t.gpus_per_node == to / t.gpus_per_node &&
      from % t.gpus_per_node / t.gpus_per_island == to % t.gpus_per_node / t.gpus_per_island) {
    if (a.island == b.island) return {from < to ? up(a.island) : down(a.island)};
    return {up(a.island), down(b.island)};
  }
  if (from / t.gpus_per_node == to / t.gpus_per_node) return {up(a.node), down(b.node)};
  const int arrival = t.nic(to);
  const int departure =
      t.wiring
          .rail_nic[static_cast<std::size_t>(from / t.gpus_per_node) * t.num_rails + t.rail(to)];
  const int out = below_nic(t.wiring, departure), in = below_nic(t.wiring, arrival);
  std::vector<DirectedWire> route;
  if (b.pcie < 0) {
    // The wire runs from the NIC to the node's root.
    route = {up(a.node), down(out)};
    append_network(t.wiring, departure, arrival, route);
    route.insert(route.end(), {up(in), down(b.node)});
    return route;
  }
  int proxy = from;
  if (t.rail(from) != t.rail(to)) {
    proxy = from / t.gpus_per_node * t.gpus_per_node + to % t.gpus_per_node;
    route = {up(a.node), down(t.wires(proxy).node)};
  }
  route.insert(route.end(), {up(t.wires(proxy).pcie), up(out)});
  append_network(t.wiring, departure, arrival, route);
  route.insert(route.end(), {down(in), down(b.pcie)});
  return route;
}

std::vector<BytesPerSecond> Topology::sustained() const {
  std::vector<BytesPerSecond> rates;
  rates.reserve(2 * impl_->wiring.wires.size());
  for (const Wire& wire : impl_->wiring.wires) rates.insert(rates.end(), 2, wire.sustained);
  return rates;
}

}  // namespace meshwright
