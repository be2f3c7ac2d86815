// SPDX-License-Identifier: Apache-2.0
#include "planner/search/cell_search.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "planner/search/settings_cost.h"
#include "sim/step/evaluate.h"

namespace meshwright::planner {
namespace {

constexpr std::size_t kClosest = 3;

// What all cells of a search share.
struct CellSearch {
  const SearchOptions& options;
  Bytes limit;  // of memory a device
  // No layout that is slower can be among the fastest: the worst step time that some cell's full
  // list holds. Which cell set it changes the work, not the answer.
  std::atomic<double> slowest_of_top{std::numeric_limits<double>::infinity()};
};

class CellWalk {
 public:
  CellWalk(Found& found, CellSearch& search, CostTable& table, const Cell& cell)
      : found_(found), search_(search), table_(table), cell_(cell), costs_(table, cell) {}

  void walk();

 private:
  void look_at_family(const Layout& family);
  void look_at_stage_setting(StageSetting& stage);
  void count_illegal_data_settings(const Layout& stage);
  // Memory and time of every legal pair.
  void look_at_pairs(StageSetting& stage, const std::vector<DataSetting>& data);
  void reject_too_large(const StageSetting& stage, const DataSetting& data, Bytes peak);
  void add_fitting(const StageSetting& stage, const DataSetting& data, Seconds time, Bytes peak);
  [[nodiscard]] bool too_slow(Seconds fastest, Bytes smallest) const;
  void keep_family_top();

  Found& found_;
  CellSearch& search_;
  CostTable& table_;
  const Cell& cell_;
  SettingsCost costs_;
  std::vector<Layout> data_layouts_;  // legal or not
  std::vector<int> legal_;            // of them
  std::vector<std::pair<int, Violation>> illegal_;
  std::vector<Candidate> family_;
  std::int64_t stages_with_illegal_data_ = 0;
  double bound_ = std::numeric_limits<double>::infinity();
};

void CellWalk::walk() {
  const std::vector<Layout> families =
      families_of(table_.model(), table_.job(), search_.options.space, cell_);
  if (families.empty()) return;
  data_layouts_ = data_settings(search_.options.space, families.front());
  for (std::size_t i = 0; i < data_layouts_.size(); ++i) {
    if (const auto violation = check_data_switches(data_layouts_[i])) {
      illegal_.emplace_back(static_cast<int>(i), *violation);
    } else {
      legal_.push_back(static_cast<int>(i));
    }
  }
  costs_.set_data_settings(data_layouts_, legal_);
  for (const Layout& family : families) look_at_family(family);
  for (const auto& [index, violation] : illegal_) {
    // The first was added with its layout.
    if (stages_with_illegal_data_ > 1) {
      found_.rejections.add_more(violation.rule, stages_with_illegal_data_ - 1);
    }
  }
}

void CellWalk::look_at_family(const Layout& family) {
  bound_ = search_.slowest_of_top.load(std::memory_order_relaxed);
  family_.clear();
  costs_.begin_family();
  for (const Layout& layout : stage_settings(search_.options.space, family)) {
    found_.statistics.enumerated += static_cast<std::int64_t>(data_layouts_.size());
    const auto violation =
        check_sizes(table_.model(), table_.job(), layout, table_.cluster().num_gpus());
    if (violation) {
      found_.rejections.add(*violation, with_data_setting(layout, data_layouts_.front()),
                            static_cast<std::int64_t>(data_layouts_.size()));
      continue;
    }
    if (!illegal_.empty() && stages_with_illegal_data_++ == 0) count_illegal_data_settings(layout);
    if (legal_.empty()) continue;
    if (const auto late = check_stage_switches(table_.model(), layout)) {
      const Layout& first = data_layouts_[static_cast<std::size_t>(legal_.front())];
      found_.rejections.add(*late, with_data_setting(layout, first),
                            static_cast<std::int64_t>(legal_.size()));
      continue;
    }
    look_at_stage_setting(costs_.memory_of(layout));
  }
  keep_family_top();
}

void CellWalk::count_illegal_data_settings(const Layout& stage) {
  for (const auto& [index, violation] : illegal_) {
    found_.rejections.add(violation,
                          with_data_setting(stage, data_layouts_[static_cast<std::size_t>(index)]));
  }
}

// No pair at this time and memory can enter the list of the fastest or the front.
bool CellWalk::too_slow(Seconds fastest, Bytes smallest) const {
  return fastest.value() > bound_ && found_.pareto.covers(fastest, smallest);
}

void CellWalk::look_at_stage_setting(StageSetting& stage) {
  found_.statistics.legal += static_cast<std::int64_t>(legal_.size());
  const DataSettings& data = costs_.data_of(stage);
  if (search_.options.branch_and_bound) {
    // Every pair holds at least the least and at most the most of each stage.
    const Bytes least = peak_memory(data.least_memory, *stage.memory, costs_.reserve()).bytes;
    const bool none_fits = least > search_.limit;
    const bool nearer =
        found_.rejections.would_be_nearest(Rule::memory_capacity, least, search_.limit);
    const bool closest = found_.statistics.fitting == 0;
    if (none_fits && !nearer && !closest) {
      found_.rejections.add_more(Rule::memory_capacity, static_cast<std::int64_t>(legal_.size()));
      return;
    }
  }
  look_at_pairs(stage, data.settings);
}

void CellWalk::look_at_pairs(StageSetting& stage, const std::vector<DataSetting>& data) {
  for (const DataSetting& setting : data) {
    const Bytes peak = peak_memory(setting.memory, *stage.memory, costs_.reserve()).bytes;
    if (peak > search_.limit) {
      reject_too_large(stage, setting, peak);
      continue;
    }
    ++found_.statistics.fitting;
    if (stage.pipeline == nullptr) costs_.price(stage);
    const PipelinePart& pipeline = *stage.pipeline;
    if (search_.options.branch_and_bound && too_slow(pipeline.least_step(), peak)) continue;
    const Seconds wait = longest_wait(pipeline, setting.part).time;
    add_fitting(stage, setting, step_time(pipeline, setting.part, wait), peak);
  }
}

void CellWalk::reject_too_large(const StageSetting& stage, const DataSetting& data, Bytes peak) {
  if (found_.statistics.fitting == 0) {
    const Candidate candidate{{}, seconds(0), peak};
    if (found_.closest.admits(candidate)) {
      found_.closest.add({with_data_setting(stage.layout, *data.layout), seconds(0), peak});
    }
  }
  if (!found_.rejections.would_be_nearest(Rule::memory_capacity, peak, search_.limit)) {
    found_.rejections.add_more(Rule::memory_capacity, 1);
    return;
  }
  found_.rejections.add({Rule::memory_capacity, peak.value(), search_.limit.value()},
                        with_data_setting(stage.layout, *data.layout));
}

void CellWalk::add_fitting(const StageSetting& stage, const DataSetting& data, Seconds time,
                           Bytes peak) {
  const bool fast = time.value() <= bound_;
  const bool on_front = !found_.pareto.covers(time, peak);
  if (!fast && !on_front) return;
  const Candidate candidate{with_data_setting(stage.layout, *data.layout), time, peak};
  if (fast) family_.push_back(candidate);
  if (on_front) found_.pareto.add(candidate);
}

// Of the family's layouts that are fast enough, those that are no near twin of a better one. Slower
// ones cannot change which of these are.
void CellWalk::keep_family_top() {
  const auto limit = found_.top.limit();
  for (const Candidate& candidate : without_near_twins(family_, limit)) found_.top.add(candidate);
  if (found_.top.items().size() < limit) return;
  const double mine = found_.top.items().back().step_time.value();
  double shared = search_.slowest_of_top.load(std::memory_order_relaxed);
  while (mine < shared && !search_.slowest_of_top.compare_exchange_weak(shared, mine)) {
  }
}

}  // namespace

Found::Found(std::size_t limit) : top(limit), closest(kClosest) {}

void Found::merge(const Found& later) {
  statistics.enumerated += later.statistics.enumerated;
  statistics.legal += later.statistics.legal;
  statistics.fitting += later.statistics.fitting;
  rejections.merge(later.rejections);
  for (const Candidate& c : later.top.items()) top.add(c);
  for (const Candidate& c : later.pareto.items()) pareto.add(c);
  for (const Candidate& c : later.closest.items()) closest.add(c);
}

// Cells are looked at in parallel and merged in their order, so that the number of threads changes
// nothing. A thread's table serves all cells that it looks at.
Found look_at_space(const Model& model, const Cluster& cluster, const Job& job,
                    const SearchOptions& options, Bytes limit) {
  const std::vector<Cell> cells = cells_of(model, cluster, options.space);
  const auto top = static_cast<std::size_t>(std::max(1, options.top));
  std::vector<Found> parts(cells.size(), Found(top));
  CellSearch search{options, limit};
  tbb::enumerable_thread_specific<CostTable> tables([&] { return CostTable(model, cluster, job); });
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, cells.size(), 1),
      [&](const tbb::blocked_range<std::size_t>& range) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
          CellWalk(parts[i], search, tables.local(), cells[i]).walk();
        }
      },
      tbb::simple_partitioner());
  Found all(top);
  for (const Found& part : parts) all.merge(part);
  return all;
}

}  // namespace meshwright::planner
