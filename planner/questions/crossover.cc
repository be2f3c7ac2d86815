// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/crossover.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "planner/search/search_layouts.h"

namespace meshwright::planner {
namespace {

constexpr int kBisections = 20;

// One side of one parameter.
struct Direction {
  WhatIfParameter parameter;
  double end;  // factor at the end of the range
};

struct Question {
  const Plan& plan;
  const SearchOptions& search;
  const CrossoverOptions& options;

  [[nodiscard]] double headroom() const { return search.memory_headroom; }
  [[nodiscard]] const Layout& winner() const { return plan.ranked.front().layout; }
};

struct Rival {
  double factor;  // of the grid, where the rival saves something that matters
  Layout layout;
};

const Timed& fastest(const std::vector<Timed>& all) {
  return *std::min_element(all.begin(), all.end(), [](const Timed& a, const Timed& b) {
    return a.step_time < b.step_time;
  });
}

// Share of the winner's step that the best layout saves. It is all of the step if the winner, which
// comes first, does not fit.
double gain_over_winner(const std::vector<Timed>& all, const Layout& winner) {
  if (all.front().layout != winner) return 1.0;
  return 1.0 - fastest(all).step_time / all.front().step_time;
}

double grid_factor(const Direction& direction, int step, int steps) {
  return std::pow(direction.end, static_cast<double>(step) / steps);
}

int search_steps(const Question& q, const Direction& direction) {
  // A batch is halved and doubled; what lies between would not divide.
  return direction.parameter == WhatIfParameter::global_batch_size ? 2 : q.options.steps;
}

// The rival where what fits changes: the place is known from the memory of the layouts. Below, the
// fastest of those that need less than the winner; above, of those that save something the one that
// needs least.
std::optional<Rival> first_by_memory(const Question& q, const Direction& direction,
                                     const std::vector<Layout>& contenders) {
  CostTable table(q.plan);
  std::vector<Timed> all;
  for (const Layout& layout : contenders) {
    const Evaluation e = evaluate(table, layout, MemoryLimit::reported);
    if (e.violation && e.violation->rule != Rule::memory_capacity) continue;
    all.push_back({layout, e.step_time, e.peak_memory});
  }
  const auto winner =
      std::find_if(all.begin(), all.end(), [&](const Timed& t) { return t.layout == q.winner(); });
  if (winner == all.end()) return std::nullopt;
  const bool below = direction.end < 1.0;
  const Bytes usable = usable_memory(q.plan, q.search);
  const Seconds worth = winner->step_time * (1.0 - q.options.gain_that_matters);
  const Timed* rival = nullptr;
  for (const Timed& t : all) {
    const bool asked = below ? t.peak_memory < winner->peak_memory
                             : t.peak_memory > usable && t.step_time <= worth;
    if (!asked) continue;
    const bool nearer = rival == nullptr || (below ? t.step_time < rival->step_time
                                                   : t.peak_memory < rival->peak_memory);
    if (nearer) rival = &t;
  }
  if (rival == nullptr) return std::nullopt;
  constexpr double kBeside = 1e-6;  // of the memory: there the rival fits, and the winner does not
  const Bytes between = (rival->peak_memory + winner->peak_memory) * 0.5;
  const Bytes needed = below ? std::max(between, winner->peak_memory * (1.0 - kBeside))
                             : rival->peak_memory * (1.0 + kBeside);
  const double factor = needed / usable;
  if (below ? factor < direction.end : factor > direction.end) return std::nullopt;
  return Rival{factor, rival->layout};
}

std::optional<Rival> first_rival(const Question& q, const Direction& direction,
                                 const std::vector<Layout>& contenders) {
  if (direction.parameter == WhatIfParameter::memory_capacity) {
    return first_by_memory(q, direction, contenders);
  }
  const int steps = search_steps(q, direction);
  const auto rival_at = [&](int step) -> std::optional<Rival> {
    const double factor = grid_factor(direction, step, steps);
    const auto all = timed(scaled(q.plan, direction.parameter, factor), contenders, q.headroom());
    if (all.empty()) return std::nullopt;
    if (gain_over_winner(all, q.winner()) < q.options.gain_that_matters) return std::nullopt;
    return Rival{factor, fastest(all).layout};
  };
  // Among many layouts most inputs flip nothing at the end and in the middle, and then nowhere; of
  // two either may fit, or be the faster one, in a part of the range alone.
  const auto last = rival_at(steps);
  const auto middle = rival_at(steps / 2);
  if (!last && !middle && contenders.size() > 2) return std::nullopt;
  for (int step = 1; step < steps; ++step) {
    if (const auto rival = step == steps / 2 ? middle : rival_at(step)) return rival;
  }
  return last;
}

// Tells whether the rival is faster than the winner there, or the winner does not fit there.
bool overtaken(const Question& q, WhatIfParameter parameter, double factor, const Layout& rival) {
  const auto pair = timed(scaled(q.plan, parameter, factor), {q.winner(), rival}, q.headroom());
  return !pair.empty() && fastest(pair).layout == rival;
}

double flip_factor(const Question& q, WhatIfParameter parameter, const Rival& rival) {
  if (parameter == WhatIfParameter::global_batch_size) return rival.factor;
  double near = 0.0;  // logarithms: the winner is best at `near`, the rival at `far`
  double far = std::log(rival.factor);
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (near + far) / 2.0;
    (overtaken(q, parameter, std::exp(middle), rival.layout) ? far : near) = middle;
  }
  return std::exp(far);
}

void fill_end(const Question& q, const Direction& direction, const std::vector<Layout>& contenders,
              Crossover& crossover) {
  const Scenario scenario = scaled(q.plan, direction.parameter, direction.end);
  crossover.end_value = value_of(direction.parameter, scenario);
  const auto all = timed(scenario, contenders, q.headroom());
  if (all.empty()) {
    crossover.end_layout = crossover.layout;
    crossover.winner_fits = false;
    return;
  }
  crossover.end_layout = fastest(all).layout;
  crossover.gain_at_end = gain_over_winner(all, q.winner());
  crossover.winner_fits = all.front().layout == q.winner();
}

void add_found(const SearchResult& found, std::vector<Layout>& contenders) {
  for (const Candidate& best : found.top.items()) add_layout(contenders, best.layout);
  for (const Candidate& best : front_without_near_duplicates(found.pareto.items())) {
    add_layout(contenders, best.layout);
  }
}

// The fastest layout of the whole space there, and the others of its Pareto set.
void add_best_of_space(const Question& q, WhatIfParameter parameter, double factor,
                       std::vector<Layout>& contenders) {
  const Scenario scenario = scaled(q.plan, parameter, factor);
  SearchOptions options = q.search;
  options.top = 1;
  add_found(search_layouts(scenario, options, usable_memory(scenario, options)), contenders);
}

// Adds layouts that are too large for the current memory and faster than the winner. The cost of a
// layout does not depend on the memory, so the current tables and front can be used.
void add_larger(const Question& q, double factor, std::vector<Layout>& contenders) {
  SearchOptions options = q.search;
  options.top = 1;
  KnownLayouts known{usable_memory(q.plan, options)};
  for (const std::size_t place : q.plan.pareto) {
    const Estimate& e = q.plan.ranked[place];
    known.front.push_back({e.layout, e.step_time, e.peak_memory()});
  }
  add_found(search_layouts(q.plan, options, known.limit * factor, known), contenders);
}

std::optional<Crossover> along(const Question& q, const Direction& direction,
                               std::vector<Layout>& contenders) {
  const auto rival = first_rival(q, direction, contenders);
  if (!rival) return std::nullopt;
  Crossover found;
  found.parameter = direction.parameter;
  found.below = direction.end < 1.0;
  found.factor = flip_factor(q, direction.parameter, *rival);
  found.today = value_of(direction.parameter, q.plan);
  found.at = value_of(direction.parameter, scaled(q.plan, direction.parameter, found.factor));
  found.layout = rival->layout;
  fill_end(q, direction, contenders, found);
  return found;
}

// Searches the whole space where the rival wins and just before the flip, until nothing new comes.
std::optional<Crossover> confirmed(const Question& q, const Direction& direction,
                                   std::vector<Layout> contenders) {
  constexpr int kRounds = 3;
  add_best_of_space(q, direction.parameter, direction.end, contenders);
  for (int round = 0; round < kRounds; ++round) {
    std::optional<Crossover> found = along(q, direction, contenders);
    if (!found) return found;
    const std::size_t known = contenders.size();
    add_best_of_space(q, direction.parameter, found->factor, contenders);
    if (contenders.size() > known) continue;
    found->exact = true;
    return found;
  }
  return along(q, direction, contenders);
}

// Where it matters what fits: the plan's Pareto set has the fastest layout of each size below
// today's memory, and one search with most memory those above.
std::vector<Layout> by_size(const Question& q, const std::vector<Layout>& contenders) {
  std::vector<Layout> all = contenders;
  if (q.options.affordable_layouts == 0) return all;
  add_layouts(all, q.plan);
  add_larger(q, q.options.highest_factor, all);
  return all;
}

std::vector<Direction> directions(const Scenario& base, const CrossoverOptions& options) {
  std::vector<Direction> all;
  for (const WhatIfParameterText& text : all_parameters()) {
    const bool asked = changes_time(text.parameter) ||
                       text.parameter == WhatIfParameter::memory_capacity ||
                       text.parameter == WhatIfParameter::global_batch_size;
    const double today = value_of(text.parameter, base);
    if (!asked || !(today > 0.0)) continue;
    // A share of a peak ends at 1.
    const double most =
        text.unit.empty() ? std::min(options.highest_factor, 1.0 / today) : options.highest_factor;
    all.push_back({text.parameter, options.lowest_factor});
    if (most > 1.0) all.push_back({text.parameter, most});
  }
  return all;
}

}  // namespace

std::vector<Crossover> crossovers(const Plan& plan, const SearchOptions& search_options,
                                  const std::vector<Layout>& contenders,
                                  const CrossoverOptions& options) {
  if (plan.ranked.empty()) return {};
  const Question q{plan, search_options, options};
  const std::vector<Layout> sized = by_size(q, contenders);
  const std::vector<Direction> asked = directions(q.plan, options);
  const auto searches = static_cast<std::int64_t>(2 * asked.size());
  const bool exact = options.affordable_layouts > 0 &&
                     plan.statistics.enumerated * searches <= options.affordable_layouts;
  std::vector<std::optional<Crossover>> found(asked.size());
  tbb::parallel_for(std::size_t{0}, asked.size(), [&](std::size_t i) {
    const bool fits_change = !changes_time(asked[i].parameter);
    std::vector<Layout> mine = fits_change ? sized : contenders;
    found[i] = exact ? confirmed(q, asked[i], mine) : along(q, asked[i], mine);
  });
  std::vector<Crossover> result;
  for (const auto& crossover : found) {
    if (crossover) result.push_back(*crossover);
  }
  std::stable_sort(result.begin(), result.end(), [](const Crossover& a, const Crossover& b) {
    return std::abs(std::log(a.factor)) < std::abs(std::log(b.factor));
  });
  return result;
}

}  // namespace meshwright::planner
