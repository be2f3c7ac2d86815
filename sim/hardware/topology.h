// SPDX-License-Identifier: Apache-2.0
// The cluster as a graph (wiring.h): what the two halves of the machine are limited by, and the
// route that a library's traffic takes. Boost.Graph does the maximum flow; it stays in the source.
#pragma once

#include <memory>
#include <vector>

#include "sim/hardware/cluster.h"
#include "sim/hardware/wiring.h"

namespace meshwright {

// One wire in one direction: 2 * wire towards the core, 2 * wire + 1 away from it.
using DirectedWire = int;

class Topology {
 public:
  static Topology of(const Cluster& cluster);
  ~Topology();
  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;

  [[nodiscard]] const Wiring& wiring() const;
  [[nodiscard]] int num_devices() const;
  [[nodiscard]] std::size_t num_vertices() const;
  [[nodiscard]] std::size_t num_edges() const;
  // Bandwidth between the two halves of the devices (lower-numbered and higher-numbered): maximum
  // flow.
  [[nodiscard]] BytesPerSecond bisection_bandwidth() const;
  // Links that a message takes: inside an island its bridge, inside a node the node's switch, and
  // between nodes the receiver's rail. If the sender is on another rail, a device of its node on
  // the receiver's rail passes the message on (NCCL's PXN). The path goes up to the level where the
  // two NICs meet.
  [[nodiscard]] std::vector<DirectedWire> route(int from, int to) const;
  // Sustained bandwidth of every directed wire.
  [[nodiscard]] std::vector<BytesPerSecond> sustained() const;

 private:
  struct Impl;
  explicit Topology(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright
