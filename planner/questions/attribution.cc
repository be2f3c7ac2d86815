// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>

#include "planner/search/space.h"
#include "sim/base/text.h"

namespace meshwright::planner {
namespace {

using Fields = std::uint64_t;    // a bit a row of the table of fields
using Switches = std::uint32_t;  // a bit a group of them
static_assert(kNumLayoutFields <= 64);

// Means are over all 2^n layouts between the two.
constexpr std::size_t kMostSwitches = 12;

Fields fields_named(const std::vector<std::string_view>& names) {
  Fields fields = 0;
  unsigned bit = 0;
  for_each_field([&](const auto& field) {
    if (std::find(names.begin(), names.end(), field.name) != names.end())
      fields |= Fields{1} << bit;
    ++bit;
  });
  return fields;
}

// Fields that say one thing together.
const std::vector<Fields>& said_together() {
  static const std::vector<Fields> groups{
      fields_named({"virtual_pipeline_parallel_size", "schedule", "overlap_p2p_comm"}),
      fields_named({"num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage",
                    "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split",
                    "pipeline_layout"}),
      fields_named({"recompute_granularity", "recompute_method", "recompute_num_layers",
                    "recompute_modules"}),
      fields_named({"cp_comm_type", "hierarchical_context_parallel_size"}),
      fields_named({"overlap_grad_reduce", "overlap_param_gather"})};
  return groups;
}

Fields differing(const Layout& a, const Layout& b) {
  Fields fields = 0;
  unsigned bit = 0;
  for_each_field([&](const auto& field) {
    if (!(a.*field.member == b.*field.member)) fields |= Fields{1} << bit;
    ++bit;
  });
  return fields;
}

Layout with_fields(Layout layout, const Layout& from, Fields fields) {
  unsigned bit = 0;
  for_each_field([&](const auto& field) {
    if ((fields >> bit & 1U) != 0) layout.*field.member = from.*field.member;
    ++bit;
  });
  return layout;
}

struct SizeAxis {
  int Layout::*member;
  std::string_view name;
};
constexpr std::array kSizeAxes{SizeAxis{&Layout::tensor_parallel_size, "tensor_parallel_size"},
                               SizeAxis{&Layout::pipeline_parallel_size, "pipeline_parallel_size"},
                               SizeAxis{&Layout::context_parallel_size, "context_parallel_size"},
                               SizeAxis{&Layout::data_parallel_size, "data_parallel_size"}};

// Tells whether a set of axes, as bits, trades sizes: each axis differs, and their product does
// not.
bool trades(unsigned set, const Layout& a, const Layout& b) {
  std::int64_t mine = 1;
  std::int64_t other = 1;
  for (std::size_t i = 0; i < kSizeAxes.size(); ++i) {
    if ((set >> i & 1U) == 0) continue;
    const auto member = kSizeAxes[i].member;
    if (a.*member == b.*member) return false;
    mine *= a.*member;
    other *= b.*member;
  }
  return set != 0 && mine == other;
}

// Sizes that change together, since the number of ranks stays: the smallest such sets.
std::vector<Fields> sizes_that_trade(const Layout& a, const Layout& b) {
  std::vector<unsigned> sets(1U << kSizeAxes.size());
  std::iota(sets.begin(), sets.end(), 0U);
  std::stable_sort(sets.begin(), sets.end(),
                   [](unsigned x, unsigned y) { return std::popcount(x) < std::popcount(y); });
  std::vector<Fields> groups;
  unsigned taken = 0;
  for (const unsigned set : sets) {
    if ((set & taken) != 0 || !trades(set, a, b)) continue;
    taken |= set;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < kSizeAxes.size(); ++i) {
      if ((set >> i & 1U) != 0) names.push_back(kSizeAxes[i].name);
    }
    groups.push_back(fields_named(names));
  }
  return groups;
}

std::vector<Fields> switches_between(const Layout& a, const Layout& b) {
  Fields rest = differing(a, b);
  std::vector<Fields> switches;
  const auto take = [&](Fields group) {
    if ((group & rest) != 0) switches.push_back(group & rest);
    rest &= ~group;
  };
  for (const Fields group : sizes_that_trade(a, b)) take(group);
  for (const Fields group : said_together()) take(group);
  while (rest != 0) take(rest & (~rest + 1));
  while (switches.size() > kMostSwitches) {
    const Fields last = switches.back();
    switches.pop_back();
    switches.back() |= last;
  }
  return switches;
}

Fields fields_of(const std::vector<Fields>& switches, Switches set) {
  Fields fields = 0;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    if ((set >> i & 1U) != 0) fields |= switches[i];
  }
  return fields;
}

bool starts(const Evaluation& evaluation) {
  return !evaluation.violation || evaluation.violation->rule == Rule::memory_capacity;
}

SwitchEffect effect_of(const Layout& layout, const Layout& versus, Fields fields) {
  SwitchEffect effect;
  effect.fields = differences(layout, with_fields(layout, versus, fields));
  return effect;
}

void add_change(SwitchEffect& effect, const Evaluation& after, const Evaluation& before,
                double weight) {
  effect.time += (after.step_time - before.step_time) * weight;
  effect.memory += (after.peak_memory - before.peak_memory) * weight;
  for (std::size_t k = 0; k < effect.terms.size(); ++k) {
    effect.terms[k] += (after.terms[k].cost.time - before.terms[k].cost.time) * weight;
  }
}

// The layouts between `versus` (no switch turned) and `layout` (all of them), and the ways from one
// to the other over layouts that would start.
struct Ways {
  std::vector<Evaluation> at;               // by the switches that are turned
  std::vector<std::vector<Switches>> next;  // the least that can be turned beyond
  std::vector<double> from_start, to_end;   // ways
};

// The smallest sets of switches that can be turned beyond `set`.
std::vector<Switches> least_beyond(const std::vector<Evaluation>& at, Switches set) {
  const auto all = static_cast<Switches>(at.size() - 1);
  const Switches open = all & ~set;
  std::vector<Switches> more;
  for (Switches sub = open; sub != 0; sub = (sub - 1) & open) more.push_back(sub);
  std::sort(more.begin(), more.end(), [](Switches a, Switches b) {
    return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b);
  });
  std::vector<Switches> least;
  for (const Switches sub : more) {
    const bool contains = std::any_of(least.begin(), least.end(),
                                      [&](Switches smaller) { return (smaller & ~sub) == 0; });
    if (!contains && starts(at[set | sub])) least.push_back(sub);
  }
  return least;
}

Ways ways_between(CostTable& table, const Layout& layout, const Layout& versus,
                  const std::vector<Fields>& switches) {
  Ways ways;
  const std::size_t count = std::size_t{1} << switches.size();
  for (Switches set = 0; set < count; ++set) {
    const Layout between = with_fields(versus, layout, fields_of(switches, set));
    ways.at.push_back(evaluate(table, between, MemoryLimit::reported));
  }
  ways.next.resize(count);
  ways.from_start.resize(count);
  ways.to_end.resize(count);
  ways.from_start.front() = ways.to_end.back() = 1.0;
  for (Switches set = 0; set + 1 < count; ++set) {
    if (ways.from_start[set] == 0.0) continue;
    ways.next[set] = least_beyond(ways.at, set);
    for (const Switches more : ways.next[set]) ways.from_start[set | more] += ways.from_start[set];
  }
  for (auto set = static_cast<Switches>(count - 1); set-- > 0;) {
    for (const Switches more : ways.next[set]) ways.to_end[set] += ways.to_end[set | more];
  }
  return ways;
}

// Switches that had to be turned at once become one.
std::optional<std::vector<Fields>> joined(const Ways& ways, const std::vector<Fields>& switches) {
  for (const std::vector<Switches>& steps : ways.next) {
    for (const Switches step : steps) {
      if (std::popcount(step) == 1) continue;
      std::vector<Fields> fewer{fields_of(switches, step)};
      for (std::size_t i = 0; i < switches.size(); ++i) {
        if ((step >> i & 1U) == 0) fewer.push_back(switches[i]);
      }
      return fewer;
    }
  }
  return std::nullopt;
}

void largest_first(std::vector<SwitchEffect>& effects) {
  std::stable_sort(effects.begin(), effects.end(), [](const auto& a, const auto& b) {
    return std::abs(a.time.value()) > std::abs(b.time.value());
  });
}

}  // namespace

std::string name_of(const SwitchEffect& effect) {
  std::string text;
  for (const FieldDifference& field : effect.fields) {
    append_to_list(text, ", ", fmt::format("{} {} against {}", field.short_name, field.a, field.b));
  }
  return text;
}

std::vector<SwitchEffect> attribution(CostTable& table, const Layout& layout,
                                      const Layout& versus) {
  std::vector<Fields> switches = switches_between(layout, versus);
  Ways ways = ways_between(table, layout, versus, switches);
  while (auto fewer = joined(ways, switches)) {
    switches = *std::move(fewer);
    ways = ways_between(table, layout, versus, switches);
  }
  std::vector<SwitchEffect> effects;
  for (const Fields fields : switches) effects.push_back(effect_of(layout, versus, fields));
  for (Switches set = 0; set < ways.next.size(); ++set) {
    for (const Switches more : ways.next[set]) {
      const double weight = ways.from_start[set] * ways.to_end[set | more] / ways.from_start.back();
      add_change(effects[static_cast<std::size_t>(std::countr_zero(more))], ways.at[set | more],
                 ways.at[set], weight);
    }
  }
  largest_first(effects);
  return effects;
}

std::vector<SwitchEffect> undone(CostTable& table, const Layout& layout) {
  Layout plain = layout;
  for_each_field([&](const auto& field) {
    const bool choice = field.level == SearchLevel::stage || field.level == SearchLevel::data ||
                        field.name == "virtual_pipeline_parallel_size" || field.name == "schedule";
    if (choice) plain.*field.member = Layout{}.*field.member;
  });
  plain.recompute_method = Layout{}.recompute_method;
  plain.recompute_modules = Layout{}.recompute_modules;
  const Evaluation with = evaluate(table, layout, MemoryLimit::reported);
  std::vector<SwitchEffect> effects;
  for (const Fields fields : switches_between(layout, plain)) {
    Layout without = with_fields(layout, plain, fields);
    Evaluation evaluation = evaluate(table, without, MemoryLimit::reported);
    if (!starts(evaluation)) {  // fields that follow from the switch change with it
      set_overlaps(without, layout.overlap_grad_reduce, table.cluster().framework.limits);
      if (!without.sequence_parallel) without.tp_comm_overlap = false;
      evaluation = evaluate(table, without, MemoryLimit::reported);
    }
    SwitchEffect effect;
    effect.fields = differences(layout, without);
    if (starts(evaluation)) {
      add_change(effect, with, evaluation, 1.0);
    } else {
      effect.broken = evaluation.violation;
    }
    effects.push_back(std::move(effect));
  }
  largest_first(effects);
  return effects;
}

}  // namespace meshwright::planner
