// SPDX-License-Identifier: Apache-2.0
// The cluster as a graph of devices, switches and NICs, and the bottleneck between any set of
// devices.
//
// Vertices: devices, an NVSwitch (or PCIe root, or shared memory) a node, NICs, leaf switches, a
// spine. Edges carry bandwidth and latency. Boost.Graph does the widest-path search; it stays in
// the source.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/hardware/cluster.h"

namespace meshwright {

struct Path {
  BytesPerSecond bandwidth;       // of the narrowest edge
  Seconds latency;                // sum over the edges
  std::vector<std::string> hops;  // vertex names from source to destination
};

class Topology {
 public:
  // The tree that a cluster file describes: devices - node switch - NICs - leaf - spine.
  static Topology of(const Cluster& cluster);
  ~Topology();
  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;

  [[nodiscard]] int num_devices() const;
  [[nodiscard]] std::size_t num_vertices() const;
  [[nodiscard]] std::size_t num_edges() const;
  // The widest path between two devices; of equally wide ones the shortest.
  [[nodiscard]] Path widest_path(int from, int to) const;
  // The narrowest widest-path between consecutive members: what a ring over them is limited by.
  [[nodiscard]] Path ring_bottleneck(std::span<const int> devices) const;
  // Bandwidth between the two halves of the devices (lower-numbered and higher-numbered): maximum
  // flow.
  [[nodiscard]] BytesPerSecond bisection_bandwidth() const;

 private:
  struct Impl;
  explicit Topology(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright
