// SPDX-License-Identifier: Apache-2.0
// All layouts of one cell: every stage setting is priced once, every data setting once, and each
// pair is put together from the two with a few additions. The sums are evaluate()'s own
// (step_time, exposed_data, static + moving memory), so that both agree to the last bit.
#pragma once

#include <atomic>
#include <limits>

#include "planner/pareto.h"
#include "planner/rejection.h"
#include "planner/space.h"
#include "sim/cost_table.h"

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

// What all cells of a search share.
struct CellSearch {
  const SearchOptions& options;
  Bytes limit;  // of memory a device
  // No layout that is slower can be among the fastest: the worst step time that some cell's full
  // list holds. Which cell set it changes the work, not the answer.
  std::atomic<double> slowest_of_top{std::numeric_limits<double>::infinity()};
};

void look_at_cell(Found& found, CellSearch& search, CostTable& table, const Cell& cell);

}  // namespace meshwright::planner
