// SPDX-License-Identifier: Apache-2.0
// Why layouts were turned down, counted under their rules, with the nearest miss of each rule and
// the smallest single change that would admit it.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/search/pareto.h"
#include "planner/search/plan.h"

namespace meshwright::planner {

// evaluate(), with `limit` bytes of memory a device instead of all of it: the one place in which
// the planner asks what a layout costs.
Evaluation evaluate_within(CostTable& table, const Layout& layout, Bytes limit);

class RejectionTally {
 public:
  // `count` layouts, of which `layout` is the first.
  void add(const Violation& violation, const Layout& layout, std::int64_t count = 1);
  // More of a rule that are no nearer than the nearest so far.
  void add_more(Rule rule, std::int64_t count) {
    entries_[static_cast<std::size_t>(rule)].count += count;
  }
  // Tells whether a layout that needs `needed` of `limit` bytes would be the nearest miss.
  [[nodiscard]] bool would_be_nearest(Rule rule, Bytes needed, Bytes limit) const;
  void merge(const RejectionTally& later);
  [[nodiscard]] std::int64_t count(Rule rule) const;
  [[nodiscard]] std::int64_t total() const;

  struct Entry {
    std::int64_t count = 0;
    double shortfall = 0.0;
    Infeasible nearest;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_ = std::vector<Entry>(all_rules().size());  // by rule
};

// The first single change that makes `layout` valid and makes it fit. Each change is tried: one
// step more recompute, sequence parallel, the next ZeRO stage, half the micro-batch, full
// recompute, twice the tensor or pipeline size with half the data size; then their reverses; then
// two of them together. "recompute_granularity selective -> full"; empty when none helps.
std::string smallest_change(CostTable& table, const Layout& layout, Bytes limit);

// Twice, four times ... as many GPUs in the pipeline or tensor direction, with the switches as they
// are: "pipeline_parallel_size 1 -> 2 on 16 GPUs". Empty when 64 times as many do not help.
std::string change_on_more_gpus(const CostTable& table, const Layout& layout, Bytes limit);

// Most frequent first; of equally frequent ones the earlier rule.
std::vector<Rejection> rejections_of(const RejectionTally& tally, CostTable& table, Bytes limit);

}  // namespace meshwright::planner
