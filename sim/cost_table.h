// SPDX-License-Identifier: Apache-2.0
// The costs that layouts share, computed once.
#pragma once

#include <memory>

#include "sim/cost/chunk.h"

namespace meshwright {

// Remembers what depends on few of a layout's sizes: the cost of a chunk on tp, cp, ep, micro-batch
// and recompute, not on dp. One a thread; for one model, cluster and job.
class CostTable {
 public:
  CostTable(const Model& model, const Cluster& cluster, const Job& job);
  ~CostTable();
  CostTable(CostTable&&) noexcept;
  CostTable& operator=(CostTable&&) noexcept;

  const ChunkCost& chunk(const Layout& layout, const Chunk& chunk, int stage_layers);
  [[nodiscard]] const Model& model() const;
  [[nodiscard]] const Cluster& cluster() const;
  [[nodiscard]] const Job& job() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright
