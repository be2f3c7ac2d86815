// SPDX-License-Identifier: Apache-2.0
// The costs that layouts share, computed once.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "sim/layout/pipeline_shape.h"
#include "sim/memory/unit_bytes.h"
#include "sim/schedule/in_flight.h"
#include "sim/step/scenario.h"
#include "sim/step/unit_cost.h"

namespace meshwright {

// Everything that the cost of a chunk is made of, of one micro-batch; valid as long as the table.
// Null: the model or the recompute has no such unit.
struct Units {
  std::array<const UnitCost*, kLayerKinds> kept{};        // by kind_index
  std::array<const UnitCost*, kLayerKinds> recomputed{};  // whole, from its input
  const UnitCost *embedding = nullptr, *head = nullptr, *mtp = nullptr;
};

// Remembers what depends on few of a layout's sizes: the work of a layer on tp, cp, ep,
// micro-batch and recompute, and where those groups sit, but not on dp, pp, schedule or ZeRO. One a
// thread; for one scenario, which it keeps a copy of.
class CostTable {
 public:
  explicit CostTable(Scenario scenario);
  ~CostTable();
  CostTable(CostTable&&) noexcept;
  CostTable& operator=(CostTable&&) noexcept;

  Units units(const Layout& layout);
  // Valid as long as the table, as what in_flight_states() gives.
  const UnitBytes& unit_bytes(const Layout& layout);
  // The schedule's, for a stage whose chunks are grouped so.
  const std::vector<InFlightState>& in_flight_states(const Layout& layout,
                                                     const std::vector<int>& group_sizes,
                                                     int stage);
  // The question; the job includes the device's choices (job_on()).
  [[nodiscard]] const Scenario& scenario() const;
  [[nodiscard]] const Model& model() const { return scenario().model; }
  [[nodiscard]] const Cluster& cluster() const { return scenario().cluster; }
  [[nodiscard]] const Job& job() const { return scenario().job; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright
