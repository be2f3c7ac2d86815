// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

// g++ 12 with sanitizers takes Boost's empty optional for an uninitialised one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/kruskal_min_spanning_tree.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <boost/property_map/function_property_map.hpp>
#pragma GCC diagnostic pop

#include "sim/error.h"

namespace meshwright {
namespace {

struct Vertex {
  std::string name;
};
struct Edge {
  double bandwidth = 0.0;  // bytes a second, each direction
  double latency = 0.0;    // seconds
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, Vertex, Edge>;
using VertexId = boost::graph_traits<Graph>::vertex_descriptor;
using EdgeId = boost::graph_traits<Graph>::edge_descriptor;

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

// The widest path between two vertices lies in a maximum spanning tree (Hu 1961); found once, it
// answers every pair in a few steps.
struct SpanningTree {
  std::vector<VertexId> parent;
  std::vector<double> width;  // of the edge to the parent
  std::vector<int> depth;
};

SpanningTree maximum_spanning_tree(const Graph& graph) {
  const std::size_t n = boost::num_vertices(graph);
  const auto narrowness =
      boost::make_function_property_map<EdgeId>([&graph](EdgeId e) { return -graph[e].bandwidth; });
  std::vector<EdgeId> chosen;
  boost::kruskal_minimum_spanning_tree(graph, std::back_inserter(chosen),
                                       boost::weight_map(narrowness));
  std::vector<std::vector<std::pair<VertexId, double>>> neighbours(n);
  for (const EdgeId e : chosen) {
    const VertexId a = boost::source(e, graph), b = boost::target(e, graph);
    neighbours[a].emplace_back(b, graph[e].bandwidth);
    neighbours[b].emplace_back(a, graph[e].bandwidth);
  }
  SpanningTree tree{std::vector<VertexId>(n, 0), std::vector<double>(n, 0.0),
                    std::vector<int>(n, 0)};
  std::vector<VertexId> open{0};
  while (!open.empty()) {
    const VertexId at = open.back();
    open.pop_back();
    for (const auto& [to, width] : neighbours[at]) {
      if (to == tree.parent[at]) continue;
      tree.parent[to] = at;
      tree.width[to] = width;
      tree.depth[to] = tree.depth[at] + 1;
      open.push_back(to);
    }
  }
  return tree;
}

double widest(const SpanningTree& tree, VertexId a, VertexId b) {
  double width = std::numeric_limits<double>::infinity();
  while (a != b) {
    if (tree.depth[a] < tree.depth[b]) std::swap(a, b);
    width = std::min(width, tree.width[a]);
    a = tree.parent[a];
  }
  return width;
}

struct AtLeast {
  const Graph* graph = nullptr;
  double width = 0.0;
  bool operator()(EdgeId e) const { return (*graph)[e].bandwidth >= width; }
};

// Fewest edges over those that are at least this wide.
std::vector<VertexId> shortest_tree(const Graph& graph, VertexId source, double width) {
  const boost::filtered_graph<Graph, AtLeast> wide_graph(graph, AtLeast{&graph, width});
  std::vector<VertexId> parent(boost::num_vertices(graph), source);
  const auto record = boost::record_predecessors(parent.data(), boost::on_tree_edge());
  boost::breadth_first_search(wide_graph, source, boost::visitor(boost::make_bfs_visitor(record)));
  return parent;
}

}  // namespace

struct Topology::Impl {
  Graph graph;
  std::vector<VertexId> devices;
  SpanningTree tree;

  [[nodiscard]] VertexId device(int index) const {
    return devices[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] double link_rate(VertexId vertex) const {
    double sum = 0.0;
    const auto [begin, end] = boost::out_edges(vertex, graph);
    for (auto it = begin; it != end; ++it) sum += graph[*it].bandwidth;
    return sum;
  }
  VertexId add(std::string name) { return boost::add_vertex(Vertex{std::move(name)}, graph); }
  void connect(VertexId a, VertexId b, BytesPerSecond bandwidth, Seconds latency) {
    boost::add_edge(a, b, Edge{bandwidth.value(), latency.value()}, graph);
  }
};

Topology::Topology(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Topology::~Topology() = default;
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;

namespace {

// What the builder knows of every node. The link's latency is one step, device to device: a node
// switch has two edges, the fabric between two NICs two edges.
struct Plan {
  int nics = 1;
  BytesPerSecond nic_rate;
  Seconds inner, outer;
  std::vector<VertexId> leaves;  // one a rail (a NIC's place in its node) and pod, rail-major
  int pods = 1;                  // groups of nodes_per_leaf nodes
};

Plan plan_of(const Cluster& c) {
  Plan plan;
  plan.nics = c.nics_per_node == 0 ? c.gpus_per_node : c.nics_per_node;
  plan.pods = (c.num_nodes + c.nodes_per_leaf - 1) / c.nodes_per_leaf;
  plan.nic_rate = c.inter_node.bandwidth * c.gpus_per_node / plan.nics;
  plan.inner = c.intra_node.latency / 2.0;
  plan.outer = c.inter_node.latency / 2.0;
  return plan;
}

template <typename Impl>
void add_fabric(const Cluster& cluster, Plan& plan, Impl& impl) {
  const VertexId spine = impl.add("spine");
  for (int rail = 0; rail < plan.nics; ++rail) {
    for (int pod = 0; pod < plan.pods; ++pod) {
      const VertexId leaf = impl.add(fmt::format("leaf{}", rail * plan.pods + pod));
      const int below =
          std::min(cluster.nodes_per_leaf, cluster.num_nodes - pod * cluster.nodes_per_leaf);
      const double uplinks = below / std::max(1.0, cluster.spine_oversubscription);
      impl.connect(leaf, spine, plan.nic_rate * uplinks, {});
      plan.leaves.push_back(leaf);
    }
  }
}

template <typename Impl>
void add_node(const Cluster& cluster, const Plan& plan, int node, Impl& impl) {
  const VertexId node_switch = impl.add(fmt::format("node{}", node));
  for (int i = 0; i < cluster.gpus_per_node; ++i) {
    impl.connect(impl.device(node * cluster.gpus_per_node + i), node_switch,
                 cluster.intra_node.bandwidth, plan.inner);
  }
  if (plan.leaves.empty()) return;
  for (int rail = 0; rail < plan.nics; ++rail) {
    const VertexId nic = impl.add(fmt::format("node{}.nic{}", node, rail));
    const int leaf = rail * plan.pods + node / cluster.nodes_per_leaf;
    impl.connect(node_switch, nic, plan.nic_rate, {});
    impl.connect(nic, plan.leaves[static_cast<std::size_t>(leaf)], plan.nic_rate, plan.outer);
  }
}

}  // namespace

Topology Topology::of(const Cluster& cluster) {
  auto impl = std::make_unique<Impl>();
  for (int i = 0; i < cluster.num_gpus(); ++i) {
    impl->devices.push_back(impl->add(fmt::format("device{}", i)));
  }
  Plan plan = plan_of(cluster);
  if (cluster.num_nodes > 1) add_fabric(cluster, plan, *impl);
  for (int node = 0; node < cluster.num_nodes; ++node) add_node(cluster, plan, node, *impl);
  impl->tree = maximum_spanning_tree(impl->graph);
  return Topology(std::move(impl));
}

int Topology::num_devices() const { return static_cast<int>(impl_->devices.size()); }
std::size_t Topology::num_vertices() const { return boost::num_vertices(impl_->graph); }
std::size_t Topology::num_edges() const { return boost::num_edges(impl_->graph); }

Path Topology::widest_path(int from, int to) const {
  invariant(from >= 0 && from < num_devices() && to >= 0 && to < num_devices(),
            "a path between devices that the cluster does not have");
  const VertexId source = impl_->device(from), target = impl_->device(to);
  const double width = widest(impl_->tree, source, target);
  const std::vector<VertexId> parent = shortest_tree(impl_->graph, source, width);
  Path path{bytes_per_second(width), {}, {impl_->graph[target].name}};
  for (VertexId at = target; at != source; at = parent[at]) {
    const auto edge = boost::edge(at, parent[at], impl_->graph).first;
    path.latency += seconds(impl_->graph[edge].latency);
    path.hops.push_back(impl_->graph[parent[at]].name);
  }
  std::reverse(path.hops.begin(), path.hops.end());
  return path;
}

Path Topology::ring_bottleneck(std::span<const int> devices) const {
  invariant(devices.size() >= 2, "a ring of fewer than two devices");
  std::size_t narrowest = 0;
  double narrowest_width = std::numeric_limits<double>::infinity();
  const auto next = [&devices](std::size_t i) { return devices[(i + 1) % devices.size()]; };
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const double width = widest(impl_->tree, impl_->device(devices[i]), impl_->device(next(i)));
    if (width >= narrowest_width) continue;
    narrowest = i;
    narrowest_width = width;
  }
  return widest_path(devices[narrowest], next(narrowest));
}

BytesPerSecond Topology::bisection_bandwidth() const {
  const std::size_t n = num_vertices(), half = impl_->devices.size() / 2;
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
  // No device can send more than its own links carry.
  for (std::size_t i = 0; i < 2 * half; ++i) {
    const VertexId device = impl_->devices[i];
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

}  // namespace meshwright
