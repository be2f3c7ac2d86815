// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search_layouts.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "planner/search/settings_cost.h"
#include "planner/search/shared_tables.h"
#include "planner/search/space_defaults.h"
#include "planner/search/space_limit.h"
#include "sim/step/evaluate.h"

namespace meshwright::planner {
namespace {

constexpr std::size_t kClosest = 3;

// State that the searches of all parallel sizes share.
struct SharedSearch {
  const SearchOptions& options;
  Bytes limit;            // bytes per device
  bool front = true;      // true: collect the Pareto front
  Bytes known;            // up to here no layout is priced
  bool unproven = false;  // the user's space names a dispatcher
  // Slowest step of the first full list: a slower layout cannot be among the fastest. The list that
  // sets it first changes the work, not the answer.
  std::atomic<double> slowest_of_top{std::numeric_limits<double>::infinity()};
  SearchWork work{options};
};

class SizesSearch {
 public:
  SizesSearch(SearchResult& result, SharedSearch& search, CostTable& table,
              const ParallelSizes& sizes)
      : result_(result),
        search_(search),
        table_(table),
        sizes_(sizes),
        costs_(table, sizes),
        devices_(devices_of(table.cluster())) {
    if (!search.unproven) devices_.lacks |= devices_.unproven;
  }

  void run();

 private:
  void price_pipeline_setting(const Layout& setting);
  void price_stage_setting(StageSetting& stage);
  void count_illegal_data_settings(const Layout& stage);
  std::size_t mark_expressible(const Layout& stage);
  // Memory and time of every legal pair.
  void price_pairs(StageSetting& stage, const std::vector<DataSetting>& data);
  void reject_too_large(const StageSetting& stage, const DataSetting& data, Bytes peak);
  void add_fitting(const StageSetting& stage, const DataSetting& data, Seconds time, Bytes peak);
  [[nodiscard]] bool too_slow(Seconds fastest, Bytes smallest) const;
  void keep_top();

  SearchResult& result_;
  SharedSearch& search_;
  CostTable& table_;
  const ParallelSizes& sizes_;
  SettingsCost costs_;
  Devices devices_;
  std::vector<Layout> stage_layouts_;  // of the pipeline setting
  std::vector<Layout> data_layouts_;   // legal or not
  std::vector<int> legal_;             // of them
  std::vector<char> expressible_;      // by place in legal_, with the stage setting at hand
  std::vector<std::pair<int, Violation>> illegal_;
  std::vector<Candidate> candidates_;
  std::int64_t stages_with_illegal_data_ = 0;
  double bound_ = std::numeric_limits<double>::infinity();
};

void SizesSearch::run() {
  const std::vector<Layout> settings =
      pipeline_settings(table_.model(), table_.job(), search_.options.space, sizes_);
  if (settings.empty()) return;
  data_layouts_ = data_settings(search_.options.space, settings.front());
  for (std::size_t i = 0; i < data_layouts_.size(); ++i) {
    if (const auto violation = check_data_switches(data_layouts_[i], devices_)) {
      illegal_.emplace_back(static_cast<int>(i), *violation);
    } else {
      legal_.push_back(static_cast<int>(i));
    }
  }
  costs_.set_data_settings(data_layouts_, legal_);
  for (const Layout& setting : settings) price_pipeline_setting(setting);
  for (const auto& [index, violation] : illegal_) {
    // The first was added with its layout.
    if (stages_with_illegal_data_ > 1) {
      result_.rejections.add_more(violation.rule, stages_with_illegal_data_ - 1);
    }
  }
}

void SizesSearch::price_pipeline_setting(const Layout& setting) {
  bound_ = search_.slowest_of_top.load(std::memory_order_relaxed);
  candidates_.clear();
  costs_.begin_pipeline_setting();
  stage_settings(search_.options.space, setting, stage_layouts_);
  search_.work.look_at(stage_layouts_.size());
  for (const Layout& layout : stage_layouts_) {
    result_.statistics.enumerated += static_cast<std::int64_t>(data_layouts_.size());
    const auto violation = check_sizes(table_.model(), table_.job(), layout, devices_);
    if (violation) {
      result_.rejections.add(*violation, with_data_setting(layout, data_layouts_.front()),
                             static_cast<std::int64_t>(data_layouts_.size()));
      continue;
    }
    if (!illegal_.empty() && stages_with_illegal_data_++ == 0) count_illegal_data_settings(layout);
    if (legal_.empty()) continue;
    if (const auto late = check_stage_switches(table_.model(), table_.job(), layout, devices_)) {
      const Layout& first = data_layouts_[static_cast<std::size_t>(legal_.front())];
      result_.rejections.add(*late, with_data_setting(layout, first),
                             static_cast<std::int64_t>(legal_.size()));
      continue;
    }
    price_stage_setting(costs_.stage_of(layout));
  }
  keep_top();
}

void SizesSearch::count_illegal_data_settings(const Layout& stage) {
  for (const auto& [index, violation] : illegal_) {
    result_.rejections.add(
        violation, with_data_setting(stage, data_layouts_[static_cast<std::size_t>(index)]));
  }
}

// Tells whether no pair can be useful whose step is at least `fastest` and whose memory is at least
// `smallest`. The full list of the fastest has only faster ones, and the front has a layout as fast
// and as small. A step takes at least least_step(); its other parts (waits for data ranks,
// optimizer) are never negative.
bool SizesSearch::too_slow(Seconds fastest, Bytes smallest) const {
  return fastest.value() > bound_ && (!search_.front || result_.pareto.covers(fastest, smallest));
}

// Counts the valid data settings that the launcher can express with a stage setting.
std::size_t SizesSearch::mark_expressible(const Layout& stage) {
  if (!search_.options.target.refusal) {
    expressible_.resize(legal_.size(), 1);
    return legal_.size();
  }
  expressible_.assign(legal_.size(), 1);
  std::size_t left = legal_.size();
  for (std::size_t i = 0; i < legal_.size(); ++i) {
    const Layout& data = data_layouts_[static_cast<std::size_t>(legal_[i])];
    const std::string why = search_.options.target.refusal(with_data_setting(stage, data));
    if (why.empty()) continue;
    expressible_[i] = 0;
    --left;
    ++result_.not_expressible[why];
  }
  return left;
}

void SizesSearch::price_stage_setting(StageSetting& stage) {
  search_.work.price(legal_.size());
  const auto expressible = static_cast<std::int64_t>(mark_expressible(stage.layout));
  result_.statistics.legal += expressible;
  if (expressible == 0) return;
  // Where the fastest alone is wanted, whatever it holds: no step is shorter than its busiest
  // stage.
  if (search_.options.branch_and_bound && !search_.front &&
      costs_.busiest_work(stage).value() > bound_) {
    return;
  }
  costs_.weigh(stage);
  const DataSettings& data = costs_.data_of(stage);
  if (search_.options.branch_and_bound) {
    // Every pair holds at least the least and at most the most of each stage.
    const Bytes least = peak_memory(data.least_memory, *stage.memory, costs_.reserve()).bytes;
    const bool none_fits = least > search_.limit;
    const bool nearer =
        result_.rejections.would_be_nearest(Rule::memory_capacity, least, search_.limit);
    const bool closest = result_.statistics.fitting == 0;
    if (none_fits && !nearer && !closest) {
      result_.rejections.add_more(Rule::memory_capacity, expressible);
      return;
    }
  }
  price_pairs(stage, data.settings);
}

void SizesSearch::price_pairs(StageSetting& stage, const std::vector<DataSetting>& data) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (expressible_[i] == 0) continue;
    const DataSetting& setting = data[i];
    const Bytes peak = peak_memory(setting.memory, *stage.memory, costs_.reserve()).bytes;
    if (peak > search_.limit) {
      reject_too_large(stage, setting, peak);
      continue;
    }
    ++result_.statistics.fitting;
    if (peak <= search_.known) continue;
    const bool bounds = search_.options.branch_and_bound;
    // The times of uneven chunks are dear.
    const bool dear = stage.pipeline == nullptr && !stage.shape->uneven_chunks.empty();
    if (bounds && dear && too_slow(costs_.busiest_work(stage), peak)) continue;
    if (stage.pipeline == nullptr) costs_.price(stage);
    const PipelinePart& pipeline = *stage.pipeline;
    if (bounds && too_slow(pipeline.least_step(), peak)) continue;
    const Seconds wait = longest_wait(pipeline, setting.part).time;
    add_fitting(stage, setting, step_time(pipeline, setting.part, wait), peak);
  }
}

void SizesSearch::reject_too_large(const StageSetting& stage, const DataSetting& data, Bytes peak) {
  if (result_.statistics.fitting == 0) {
    const Candidate candidate{{}, seconds(0), peak};
    if (result_.closest.admits(candidate)) {
      result_.closest.add({with_data_setting(stage.layout, *data.layout), seconds(0), peak});
    }
  }
  if (!result_.rejections.would_be_nearest(Rule::memory_capacity, peak, search_.limit)) {
    result_.rejections.add_more(Rule::memory_capacity, 1);
    return;
  }
  result_.rejections.add({Rule::memory_capacity, peak.value(), search_.limit.value()},
                         with_data_setting(stage.layout, *data.layout));
}

void SizesSearch::add_fitting(const StageSetting& stage, const DataSetting& data, Seconds time,
                              Bytes peak) {
  const bool fast = time.value() <= bound_;
  const bool on_front = search_.front && !result_.pareto.covers(time, peak);
  if (!fast && !on_front) return;
  const Candidate candidate{with_data_setting(stage.layout, *data.layout), time, peak};
  if (fast) candidates_.push_back(candidate);
  if (on_front) result_.pareto.add(candidate);
}

// Keeps the pipeline setting's layouts that are fast enough and no near-duplicate of a better one.
// Slower layouts cannot change which ones these are.
void SizesSearch::keep_top() {
  const auto limit = result_.top.limit();
  for (const Candidate& candidate : without_near_duplicates(candidates_, limit))
    result_.top.add(candidate);
  if (!result_.top.full()) return;
  const double mine = result_.top.slowest().value();
  double shared = search_.slowest_of_top.load(std::memory_order_relaxed);
  while (mine < shared && !search_.slowest_of_top.compare_exchange_weak(shared, mine)) {
  }
}

}  // namespace

SearchResult::SearchResult(std::size_t limit) : top(limit), closest(kClosest) {}

void SearchResult::merge(const SearchResult& later) {
  statistics.enumerated += later.statistics.enumerated;
  statistics.legal += later.statistics.legal;
  statistics.fitting += later.statistics.fitting;
  rejections.merge(later.rejections);
  for (const Candidate& c : later.top.items()) top.add(c);
  for (const Candidate& c : later.pareto.items()) pareto.add(c);
  for (const Candidate& c : later.closest.items()) closest.add(c);
  for (const auto& [why, count] : later.not_expressible) not_expressible[why] += count;
}

namespace {

// Parallel sizes are looked at in parallel and merged in their order, so that the number of threads
// changes nothing. A thread's table serves all sizes that it looks at.
SearchResult search_all(const Scenario& scenario, SearchOptions options, Bytes limit, bool front,
                        Seconds fastest, const KnownLayouts& known = {}) {
  const bool unproven = !options.space[&Layout::moe_token_dispatcher_type].empty();
  options.space =
      with_defaults(std::move(options.space), scenario.model, scenario.job, scenario.cluster);
  check_lists(options.space);
  const std::vector<ParallelSizes> all_sizes = parallel_sizes_of(scenario, options.space);
  const auto top = static_cast<std::size_t>(std::max(1, options.top));
  SearchResult start(top);
  for (const Candidate& candidate : known.front) start.pareto.add(candidate);
  std::vector<SearchResult> parts(all_sizes.size(), start);
  SharedSearch search{options, limit, front, known.limit, unproven};
  search.slowest_of_top.store(fastest.value(), std::memory_order_relaxed);
  const std::shared_ptr<SharedTables> tables = tables_of(options, scenario);
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, all_sizes.size(), 1),
      [&](const tbb::blocked_range<std::size_t>& range) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
          SizesSearch(parts[i], search, tables->local(), all_sizes[i]).run();
        }
      },
      tbb::simple_partitioner());
  SearchResult all = start;
  for (const SearchResult& part : parts) all.merge(part);
  return all;
}

}  // namespace

SearchResult search_layouts(const Scenario& scenario, const SearchOptions& options, Bytes limit,
                            const KnownLayouts& known) {
  const Seconds fastest = known.front.empty() ? kAnyTime : known.front.front().step_time;
  return search_all(scenario, options, limit, true, fastest, known);
}

std::optional<Candidate> fastest_layout(const Scenario& scenario, const SearchOptions& asked,
                                        Bytes limit, Seconds known) {
  SearchOptions options = asked;
  options.top = 1;
  const SearchResult result = search_all(scenario, options, limit, false, known);
  if (result.top.empty()) return std::nullopt;
  return result.top.items().front();
}

}  // namespace meshwright::planner
