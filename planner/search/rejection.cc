// SPDX-License-Identifier: Apache-2.0
#include "planner/search/rejection.h"

#include <algorithm>

#include "sim/rules/rule_row.h"

namespace meshwright::planner {

Evaluation evaluate_within(CostTable& table, const Layout& layout, Bytes limit) {
  Evaluation evaluation = evaluate(table, layout);
  if (!evaluation.violation && evaluation.peak_memory > limit) {
    evaluation.violation =
        Violation{Rule::memory_capacity, evaluation.peak_memory.value(), limit.value()};
  } else if (evaluation.violation && evaluation.violation->rule == Rule::memory_capacity) {
    evaluation.violation->available = limit.value();
  }
  return evaluation;
}

bool RejectionTally::would_be_nearest(Rule rule, Bytes needed, Bytes limit) const {
  const Entry& entry = entries_[static_cast<std::size_t>(rule)];
  return entry.count == 0 || shortfall({needed.value(), limit.value()}) < entry.shortfall;
}

void RejectionTally::add(const Violation& violation, const Layout& layout, std::int64_t count) {
  Entry& entry = entries_[static_cast<std::size_t>(violation.rule)];
  const double missed = shortfall({violation.needed, violation.available});
  if (entry.count == 0 || missed < entry.shortfall) {
    entry.shortfall = missed;
    entry.nearest = {layout, violation};
  }
  entry.count += count;
}

void RejectionTally::merge(const RejectionTally& later) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& mine = entries_[i];
    const Entry& other = later.entries_[i];
    if (other.count == 0) continue;
    if (mine.count == 0 || other.shortfall < mine.shortfall) {
      mine.shortfall = other.shortfall;
      mine.nearest = other.nearest;
    }
    mine.count += other.count;
  }
}

std::int64_t RejectionTally::count(Rule rule) const {
  return entries_[static_cast<std::size_t>(rule)].count;
}

std::int64_t RejectionTally::total() const {
  std::int64_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.count;
  return sum;
}

std::vector<Rejection> rejections_of(const RejectionTally& tally, CostTable& table, Bytes limit) {
  std::vector<Rejection> rejections;
  for (std::size_t i = 0; i < tally.entries().size(); ++i) {
    const RejectionTally::Entry& entry = tally.entries()[i];
    if (entry.count == 0) continue;
    rejections.push_back({static_cast<Rule>(i), entry.count, entry.nearest,
                          describe(entry.nearest.violation, table.model(), table.job(),
                                   entry.nearest.layout, devices_of(table.cluster())),
                          smallest_change(table, entry.nearest.layout, limit)});
  }
  std::stable_sort(rejections.begin(), rejections.end(),
                   [](const Rejection& a, const Rejection& b) { return a.count > b.count; });
  return rejections;
}

}  // namespace meshwright::planner
