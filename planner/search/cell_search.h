// SPDX-License-Identifier: Apache-2.0
// All layouts of a space, cell by cell: every stage setting is priced once, every data setting
// once, and each pair is put together from the two with a few additions, those of evaluate().
#pragma once

#include "planner/search/pareto.h"
#include "planner/search/rejection.h"
#include "planner/search/space.h"
#include "sim/step/cost_table.h"

namespace meshwright::planner {

// What a part of the space contributes: its size does not depend on how many layouts were looked
// at.
struct Found {
  explicit Found(std::size_t limit);
  // `later` follows in the order of enumeration.
  void merge(const Found& later);

  SearchStatistics statistics;
  RejectionTally rejections;
  TopList top;  // of each family without near twins
  ParetoFront pareto;
  TopList closest;  // legal, but too large, least memory first; only when nothing fits
};

// Every cell of the space; `limit` bytes of memory a device.
Found look_at_space(const Model& model, const Cluster& cluster, const Job& job,
                    const SearchOptions& options, Bytes limit);

}  // namespace meshwright::planner
