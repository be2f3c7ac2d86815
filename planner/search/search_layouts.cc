// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search_layouts.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
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
constexpr double kNever = std::numeric_limits<double>::infinity();
// Part of the best step that one with rare settings may take: predictions are off by 10 % either
// way, and such layouts cost operations.
constexpr double kWorthRare = 0.99;

// By pipeline setting of some parallel sizes, in a search without rare settings: the least time
// there of what fits, and of what memory alone refuses. Something on the host makes no layout
// faster; it makes it fit. kNever: none is as fast as the slowest of the top list.
using HostBounds = std::vector<double>;

void lower(std::atomic<double>& shared, Seconds mine) {
  double now = shared.load(std::memory_order_relaxed);
  while (mine.value() < now && !shared.compare_exchange_weak(now, mine.value())) {
  }
}

// State that the searches of all parallel sizes share.
struct SharedSearch {
  const SearchOptions& options;
  Bytes limit;            // bytes per device
  bool front = true;      // true: collect the Pareto front
  Bytes known;            // up to here no layout is priced
  bool unproven = false;  // the user's space names a dispatcher
  bool host = false;      // what goes to the host is open: bounds for it are found
  SearchSpace keeping;  // of the space, stage settings that keep all activations, if there are any
  // Slowest step of the first full list: a slower layout cannot be among the fastest. The list that
  // sets it first changes the work, not the answer.
  std::atomic<double> slowest_of_top{kNever};
  std::atomic<double> best{kNever};  // step so far
  // By parallel sizes: its own, and those of a search without rare settings.
  std::vector<HostBounds> found{};
  const std::vector<HostBounds>* known_bounds = nullptr;
  SearchWork work{options};
};

class SizesSearch {
 public:
  SizesSearch(SearchResult& result, SharedSearch& search, CostTable& table,
              const ParallelSizes& sizes, std::size_t number)
      : result_(result),
        search_(search),
        table_(table),
        sizes_(sizes),
        costs_(table, sizes),
        devices_(devices_of(table.cluster())),
        found_(search.found[number]),
        known_(search.known_bounds == nullptr ? nullptr : &(*search.known_bounds)[number]) {
    if (!search.unproven) devices_.lacks |= devices_.unproven;
  }

  void run();

 private:
  [[nodiscard]] std::vector<Layout> settings_to_price() const;
  void price_pipeline_setting(const Layout& setting);
  [[nodiscard]] bool keeps_all(const Layout& layout) const;
  [[nodiscard]] bool any_faster(const Layout& setting);
  void price_stage_setting(StageSetting& stage);
  void want_room(StageSetting& stage, const std::vector<DataSetting>& data);
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
  HostBounds& found_;
  const HostBounds* known_;  // none in a search without rare settings
  // By micro-batch size and schedule, the work of any division of the layers.
  std::map<std::pair<int, PipelineSchedule>, double> balanced_;
  double bound_ = kNever;  // of the pipeline setting at hand
};

void SizesSearch::run() {
  const std::vector<Layout> settings = settings_to_price();
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

// Pipeline settings, without those whose rare settings cannot be faster than the best.
std::vector<Layout> SizesSearch::settings_to_price() const {
  std::vector<Layout> settings =
      pipeline_settings(table_.model(), table_.job(), search_.options.space, sizes_);
  if (known_ == nullptr) return settings;
  const double best = search_.slowest_of_top.load(std::memory_order_relaxed);
  std::vector<Layout> left;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const double least = i < known_->size() ? (*known_)[i] : 0.0;
    if (least <= best && least < kNever) left.push_back(settings[i]);
  }
  return left;
}

void SizesSearch::price_pipeline_setting(const Layout& setting) {
  found_.push_back(kNever);
  bound_ = search_.slowest_of_top.load(std::memory_order_relaxed);
  candidates_.clear();
  const bool skips = search_.options.branch_and_bound && !search_.front;
  costs_.begin_pipeline_setting();
  if (skips && !any_faster(setting)) return;
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

// Tells whether a stage setting takes the least time of those with its switches: what runs again or
// moves takes more, and breaks no fewer rules.
bool SizesSearch::keeps_all(const Layout& layout) const {
  using enum RecomputeGranularity;
  const bool always_recomputes = search_.keeping[&Layout::recompute_granularity].front() != none;
  return (layout.recompute_granularity == none || always_recomputes) &&
         !offloads_activations(layout);
}

// Tells whether a stage setting of the pipeline setting may be faster than the best so far.
bool SizesSearch::any_faster(const Layout& setting) {
  const auto [balanced, is_new] =
      balanced_.try_emplace({setting.micro_batch_size, setting.schedule}, 0.0);
  if (balanced->second > bound_) {
    search_.work.look_at(1);
    return false;
  }
  stage_settings(search_.keeping, setting, stage_layouts_);
  search_.work.look_at(stage_layouts_.size());
  bool notes = is_new && known_ != nullptr;  // work of others with this micro-batch is the same
  bool looked = false, faster = false;
  double work = kNever;
  for (const Layout& layout : stage_layouts_) {
    if (!keeps_all(layout)) continue;
    looked = true;
    if (check_sizes(table_.model(), table_.job(), layout, devices_) ||
        check_stage_switches(table_.model(), table_.job(), layout, devices_)) {
      continue;
    }
    StageSetting& stage = costs_.stage_of(layout);
    if (known_ != nullptr && costs_.least_memory(stage) > search_.limit) {
      notes = false;  // with other layers it may fit
      continue;
    }
    if (notes) work = std::min(work, costs_.balanced_work(stage).value());
    faster = faster || costs_.least_step(stage).value() <= bound_;
    if (faster && !notes) return true;
  }
  if (notes && work < kNever) balanced->second = work;
  return faster || !looked;
}

// Memory refuses pairs of a stage setting: with something on the host they may fit.
void SizesSearch::want_room(StageSetting& stage, const std::vector<DataSetting>& data) {
  if (!search_.host || !keeps_all(stage.layout)) return;
  if (costs_.least_memory(stage) > search_.limit) return;
  double& least = found_.back();
  const double cheap = costs_.least_step(stage).value();
  if (cheap > bound_ || cheap >= least) return;
  if (cheap > search_.best.load(std::memory_order_relaxed) * kWorthRare) {
    least = cheap;  // near enough for a list of the fastest
    return;
  }
  if (stage.pipeline == nullptr) costs_.price(stage);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const DataPart& part = data[i].part;
    if (expressible_[i] == 0 || stage.pipeline->least_step().value() >= least) continue;
    if (peak_memory(data[i].memory, *stage.memory, costs_.reserve()).bytes <= search_.limit)
      continue;
    const Seconds wait = longest_wait(*stage.pipeline, part).time;
    least = std::min(least, step_time(*stage.pipeline, part, wait).value());
  }
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
  // Where the fastest alone is wanted, whatever it holds.
  if (search_.options.branch_and_bound && !search_.front &&
      costs_.least_step(stage).value() > bound_) {
    return;
  }
  const auto expressible = static_cast<std::int64_t>(mark_expressible(stage.layout));
  result_.statistics.legal += expressible;
  if (expressible == 0) return;
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
      want_room(stage, data.settings);
      result_.rejections.add_more(Rule::memory_capacity, expressible);
      return;
    }
  }
  price_pairs(stage, data.settings);
}

void SizesSearch::price_pairs(StageSetting& stage, const std::vector<DataSetting>& data) {
  bool refused = false;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (expressible_[i] == 0) continue;
    const DataSetting& setting = data[i];
    const Bytes peak = peak_memory(setting.memory, *stage.memory, costs_.reserve()).bytes;
    if (peak > search_.limit) {
      reject_too_large(stage, setting, peak);
      refused = true;
      continue;
    }
    ++result_.statistics.fitting;
    if (peak <= search_.known) continue;
    const bool bounds = search_.options.branch_and_bound;
    // The times of uneven chunks are dear.
    const bool dear = stage.pipeline == nullptr && !stage.shape->uneven_chunks.empty();
    if (bounds && dear && too_slow(costs_.least_step(stage), peak)) continue;
    if (stage.pipeline == nullptr) costs_.price(stage);
    const PipelinePart& pipeline = *stage.pipeline;
    if (bounds && too_slow(pipeline.least_step(), peak)) continue;
    const Seconds wait = longest_wait(pipeline, setting.part).time;
    add_fitting(stage, setting, step_time(pipeline, setting.part, wait), peak);
  }
  if (refused) want_room(stage, data);
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
  for (const Candidate& candidate : without_near_duplicates(candidates_, limit)) {
    result_.top.add(candidate);
    found_.back() = std::min(found_.back(), candidate.step_time.value());
  }
  const TopList& top = result_.top;
  if (!top.empty()) lower(search_.best, top.items().front().step_time);
  if (top.full()) lower(search_.slowest_of_top, top.slowest());
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

// The space with no more recompute than none, where it has that.
SearchSpace without_recompute(SearchSpace space) {
  using enum RecomputeGranularity;
  std::vector<RecomputeGranularity>& asked = space[&Layout::recompute_granularity];
  if (asked.empty() || std::find(asked.begin(), asked.end(), none) != asked.end()) asked = {none};
  return space;
}

// Tells whether the space leaves open what goes to the host, and there is a link to it.
bool may_offload(const Scenario& scenario, const SearchSpace& space) {
  return only_device(scenario.cluster).host_link > bytes_per_second(0) &&
         space[&Layout::optimizer_offload].empty() && space[&Layout::offload_modules].empty() &&
         space[&Layout::cpu_offloading_num_layers].empty();
}

}  // namespace

SearchSpace with_host(SearchSpace space, const Scenario& scenario) {
  if (!may_offload(scenario, space)) return space;
  constexpr std::uint8_t kAttention =
      kOffloadQkvLinear | kOffloadCoreAttention | kOffloadAttentionProjection;
  constexpr std::uint8_t kAll = kAttention | kOffloadExpertFc1 | kOffloadMoeActivation;
  const auto has = [lacks = scenario.cluster.lacks()](Unsupported what) {
    return (lacks & lack_bit(what)) == 0;
  };
  if (has(Unsupported::optimizer_offload)) space[&Layout::optimizer_offload] = {false, true};
  if (!has(Unsupported::offload_modules)) return space;
  space[&Layout::offload_modules] = {{}, {kAttention}};
  if (scenario.model.moe) space[&Layout::offload_modules].push_back({kAll});
  return space;
}

namespace {

// Settings that make few layouts faster, and the space many times as large.
enum class Rare { none, host_and_uneven };

// Parallel sizes are looked at in parallel and merged in their order, so that the number of threads
// changes nothing. A thread's table serves all sizes that it looks at. `bounds`: written without
// rare settings, read with them.
SearchResult search_all(const Scenario& scenario, SearchOptions options, Bytes limit, bool front,
                        Seconds fastest, const KnownLayouts& known, Rare rare,
                        std::vector<HostBounds>* bounds) {
  const bool unproven = !options.space[&Layout::moe_token_dispatcher_type].empty();
  const bool all_settings = rare == Rare::host_and_uneven;
  options.space =
      with_defaults(std::move(options.space), scenario.model, scenario.job, scenario.cluster);
  SearchSpace keeping = without_recompute(options.space);
  const bool host = !all_settings && may_offload(scenario, options.space);
  if (all_settings) {
    options.space = with_host(std::move(options.space), scenario);
    options.most_work = std::numeric_limits<std::int64_t>::max();  // limited without them
  }
  check_lists(options.space);
  const std::vector<ParallelSizes> all_sizes =
      parallel_sizes_of(scenario, options.space, all_settings);
  const auto top = static_cast<std::size_t>(std::max(1, options.top));
  SearchResult start(top);
  for (const Candidate& candidate : known.front) start.pareto.add(candidate);
  std::vector<SearchResult> parts(all_sizes.size(), start);
  SharedSearch search{options, limit, front, known.limit, unproven, host, std::move(keeping)};
  search.found.resize(all_sizes.size());
  if (all_settings) search.known_bounds = bounds;
  lower(search.slowest_of_top, fastest);
  lower(search.best, fastest);
  const std::shared_ptr<SharedTables> tables = tables_of(options, scenario);
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, all_sizes.size(), 1),
      [&](const tbb::blocked_range<std::size_t>& range) {
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
          SizesSearch(parts[i], search, tables->local(), all_sizes[i], i).run();
        }
      },
      tbb::simple_partitioner());
  SearchResult all = start;
  for (const SearchResult& part : parts) all.merge(part);
  if (!all_settings) *bounds = std::move(search.found);
  return all;
}

std::optional<Candidate> first_of(const SearchResult& result) {
  if (result.top.empty()) return std::nullopt;
  return result.top.items().front();
}

// The fastest with rare settings, if it takes `most` at most.
std::optional<Candidate> fastest_with_rare(const Scenario& scenario, SearchOptions options,
                                           Bytes limit, Seconds most, const KnownLayouts& known,
                                           std::vector<HostBounds>& bounds) {
  options.top = 1;
  return first_of(
      search_all(scenario, options, limit, false, most, known, Rare::host_and_uneven, &bounds));
}

std::string note_on(const Layout& layout, bool none_without) {
  const bool host = layout.optimizer_offload || offloads_activations(layout);
  if (host && none_without) {
    return "No layout fits in device memory alone. Layouts with optimizer states or activations on "
           "the host were also searched.";
  }
  const bool uneven = layout.pipeline_layout || layout.num_layers_in_first_pipeline_stage > 0;
  return fmt::format("The fastest layout {}. Such layouts were searched for the fastest alone.",
                     host && uneven ? "has uneven stages, and keeps something on the host"
                     : host         ? "keeps something on the host"
                                    : "has uneven stages");
}

}  // namespace

SearchResult search_layouts(const Scenario& scenario, const SearchOptions& options, Bytes limit,
                            const KnownLayouts& known) {
  const Seconds fastest = known.front.empty() ? kAnyTime : known.front.front().step_time;
  std::vector<HostBounds> bounds;
  SearchResult result =
      search_all(scenario, options, limit, true, fastest, known, Rare::none, &bounds);
  const auto usual = first_of(result);
  const Seconds best = usual ? std::min(usual->step_time, fastest) : fastest;
  const auto found = fastest_with_rare(scenario, options, limit, best * kWorthRare, known, bounds);
  if (!found) return result;
  const bool none_without = !usual && known.front.empty();
  // Of layouts with rare settings, those among the fastest; all, where there are no others.
  const Seconds slowest = result.top.full() ? result.top.slowest() : fastest;
  SearchResult all = search_all(scenario, options, limit, none_without, slowest, known,
                                Rare::host_and_uneven, none_without ? nullptr : &bounds);
  all.notes.push_back(note_on(found->layout, none_without));
  if (none_without) return all;
  for (const Candidate& candidate : all.top.items()) result.pareto.add(candidate);
  result.top = std::move(all.top);
  result.notes = std::move(all.notes);
  return result;
}

std::optional<Candidate> fastest_layout(const Scenario& scenario, const SearchOptions& asked,
                                        Bytes limit, Seconds known) {
  SearchOptions options = asked;
  options.top = 1;
  std::vector<HostBounds> bounds;
  const auto usual =
      first_of(search_all(scenario, options, limit, false, known, {}, Rare::none, &bounds));
  // `known` may be the time of one with rare settings.
  const Seconds most = usual ? usual->step_time * kWorthRare : known;
  const auto rare = fastest_with_rare(scenario, options, limit, most, {}, bounds);
  return rare ? rare : usual;
}

}  // namespace meshwright::planner
