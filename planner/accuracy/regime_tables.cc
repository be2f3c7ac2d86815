// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/regime_tables.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <set>

#include "planner/accuracy/learning.h"

namespace meshwright::planner {
namespace {

constexpr int kMostFolds = 5;
constexpr int kFewestGroups = 3;  // of a machine, of which one is left out

std::set<std::string> groups_of(const MeasuredSet& set) {
  std::set<std::string> groups;
  for (const MeasuredRun& run : set.runs) groups.insert(run.group);
  return groups;
}

std::vector<ListedSet> all_pieces(const std::vector<ListedSet>& sets, bool by_cluster) {
  std::vector<ListedSet> pieces;
  for (const ListedSet& set : sets) {
    for (ListedSet& piece : pieces_of(set, by_cluster)) pieces.push_back(std::move(piece));
  }
  return pieces;
}

// Each piece under a condition; pieces without a prediction, or where nothing comes back, fall out.
template <typename Condition>
std::vector<SetErrors> under(const std::vector<ListedSet>& pieces, const Condition& condition) {
  std::vector<SetErrors> found(pieces.size());
  tbb::parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t i) {
    const MeasuredSet changed = condition(pieces[i].set);
    if (changed.runs.empty()) return;
    found[i] = set_errors(changed);
    found[i].set = pieces[i].row;
    found[i].file = pieces[i].file;
  });
  std::erase_if(found, [](const SetErrors& set) { return set.errors.empty(); });
  return found;
}

MeasuredSet taught_by_other_groups(const MeasuredSet& set, const RefitPrior& prior) {
  const int groups = static_cast<int>(groups_of(set).size());
  if (groups < kFewestGroups) return {};
  MeasuredSet taught =
      fitted_on_other_groups(set, all_framework_scalars(), std::min(kMostFolds, groups), prior);
  for (MeasuredRun& run : taught.runs) {
    run.cluster.framework_assumed = false;
    if (run.cluster.framework.name.empty()) run.cluster.framework.name = "fitted";
    run.cluster.fit.framework = run.cluster.framework.name;
  }
  return taught;
}

std::vector<SetErrors> of_regime(const std::vector<SetErrors>& sets, IntervalRegime regime) {
  std::vector<SetErrors> kept;
  std::copy_if(sets.begin(), sets.end(), std::back_inserter(kept),
               [&](const SetErrors& set) { return set.regime == regime; });
  return kept;
}

std::vector<SetErrors> of_kind(const std::vector<SetErrors>& sets, bool experts) {
  std::vector<SetErrors> kept;
  std::copy_if(sets.begin(), sets.end(), std::back_inserter(kept),
               [&](const SetErrors& set) { return set.experts == experts; });
  return kept;
}

// Keeps the sets whose level this table measures. Holding out a cluster can also make its software
// unknown; such errors belong to another level.
std::vector<SetErrors> judged_in(const RegimeTables& tables, LeftOut what) {
  constexpr std::array kAbout{IntervalRegime::unknown_software, IntervalRegime::known_chip,
                              IntervalRegime::unknown_chip, IntervalRegime::profiled_machine};
  const auto place = static_cast<std::size_t>(what);
  return of_regime(tables.tables[place], kAbout[place]);
}

// Least known first, so that a regime with too few sets takes the next one's.
std::vector<RegimeRow> rows_of(const std::vector<SetErrors>& judged) {
  std::vector<RegimeRow> rows;
  for (const bool experts : {true, false}) {
    RegimeSpread last;
    for (auto name = kIntervalRegimeNames.rbegin(); name != kIntervalRegimeNames.rend(); ++name) {
      if (name->value == IntervalRegime::profiled_cores) continue;  // of trials, not of these sets
      const auto found = regime_spread(of_kind(of_regime(judged, name->value), experts));
      last = found.value_or(last);
      rows.push_back({name->value, experts, last, found.has_value()});
    }
  }
  std::reverse(rows.begin(), rows.end());
  return rows;
}

OwnPrior own_prior_of(const std::vector<SetErrors>& learnt) {
  std::vector<double> own;
  for (const SetErrors& set : learnt) {
    if (set.errors.size() >= 2) own.push_back(set_spread(set).own);
  }
  return own_prior(own).value_or(OwnPrior{});
}

}  // namespace

ClustersOfSets clusters_of(const std::vector<ListedSet>& sets) {
  ClustersOfSets clusters;
  for (const ListedSet& set : sets) {
    for (const MeasuredRun& run : set.set.runs) clusters[set.file].insert(run.cluster.name);
  }
  return clusters;
}

std::vector<ListedSet> pieces_of(const ListedSet& set, bool by_cluster) {
  std::map<std::string, ListedSet> pieces;
  for (const MeasuredRun& run : set.set.runs) {
    const std::string& framework = run.cluster.framework.name;
    std::string name = set.row;
    if (by_cluster) name += ", " + run.cluster.name;
    const std::string key = fmt::format("{} {} {}", name, framework, run.model.moe.has_value());
    ListedSet& piece = pieces.emplace(key, ListedSet{name, set.file, {}}).first->second;
    piece.set.name = name;
    piece.set.runs.push_back(run);
  }
  std::vector<ListedSet> result;
  for (auto& [key, piece] : pieces) result.push_back(std::move(piece));
  return result;
}

std::vector<SetErrors> left_out(LeftOut what, const std::vector<ListedSet>& sets,
                                std::span<const Device> devices) {
  const ClustersOfSets clusters = clusters_of(sets);
  const auto no_clusters = [&](const MeasuredSet& set) { return without_clusters(set, clusters); };
  const std::vector<ListedSet> pieces = all_pieces(sets, false);
  switch (what) {
    case LeftOut::framework:
      return under(pieces, without_framework);
    case LeftOut::cluster:
      return under(pieces, no_clusters);
    case LeftOut::device: {
      std::vector<SetErrors> found = under(pieces, [&](const MeasuredSet& set) {
        return without_devices(no_clusters(set), devices);
      });
      for (SetErrors& set : under(pieces, [&](const MeasuredSet& s) {
             return without_devices(without_framework(s), devices);
           })) {
        found.push_back(std::move(set));
      }
      return found;
    }
    case LeftOut::groups:
      break;
  }
  return {};
}

std::vector<SetErrors> groups_left_out(const std::vector<ListedSet>& sets,
                                       const std::vector<SetErrors>& others) {
  const ClustersOfSets clusters = clusters_of(sets);
  const auto spread_of = [&](IntervalRegime regime, bool experts) {
    return regime_spread(of_kind(of_regime(others, regime), experts)).value_or(RegimeSpread{});
  };
  return under(all_pieces(sets, true), [&](const MeasuredSet& set) {
    const MeasuredSet known_elsewhere = without_clusters(set, clusters);
    const MeasuredRun& first = known_elsewhere.runs.front();
    const bool experts = first.model.moe.has_value();
    return taught_by_other_groups(
        known_elsewhere, learning_prior(spread_of(interval_regime(first.cluster), experts),
                                        spread_of(IntervalRegime::known_chip, experts).own));
  });
}

RegimeTables regime_tables(const std::vector<ListedSet>& sets, std::span<const Device> devices) {
  RegimeTables result;
  std::vector<SetErrors> others;
  for (const LeftOut what : {LeftOut::framework, LeftOut::cluster, LeftOut::device}) {
    auto& table = result.tables[static_cast<std::size_t>(what)];
    table = left_out(what, sets, devices);
  }
  for (const LeftOut what : {LeftOut::framework, LeftOut::cluster}) {
    for (SetErrors& set : judged_in(result, what)) others.push_back(std::move(set));
  }
  result.tables[static_cast<std::size_t>(LeftOut::groups)] = groups_left_out(sets, others);
  for (const auto& what : kLeftOutNames) {
    for (SetErrors& set : judged_in(result, what.value)) result.judged.push_back(std::move(set));
  }
  result.coverage = left_out_coverage(result.judged);
  result.rows = rows_of(result.judged);
  const auto learnt = of_regime(result.judged, IntervalRegime::profiled_machine);
  result.own_priors = {own_prior_of(of_kind(learnt, false)), own_prior_of(of_kind(learnt, true))};
  std::set<std::string> frameworks;
  for (const ListedSet& set : sets) {
    for (const MeasuredRun& run : set.set.runs) frameworks.insert(run.cluster.framework.name);
  }
  frameworks.erase("");
  result.frameworks.assign(frameworks.begin(), frameworks.end());
  return result;
}

std::optional<double> pooled_coverage(const RegimeTables& tables, IntervalRegime regime) {
  double sum = 0.0;
  int count = 0;
  for (const SetCoverage& set : tables.coverage) {
    if (tables.judged[set.set].regime != regime) continue;
    sum += set.inside;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

JudgedChoices choices_of(LeftOut what, const std::vector<ListedSet>& sets) {
  const ClustersOfSets clusters = clusters_of(sets);
  const std::vector<ListedSet> pieces = all_pieces(sets, false);
  JudgedChoices all;
  for (const ListedSet& piece : pieces) {
    const JudgedChoices found =
        judged_choices(what == LeftOut::framework ? without_framework(piece.set)
                                                  : without_clusters(piece.set, clusters));
    all.choices.insert(all.choices.end(), found.choices.begin(), found.choices.end());
    all.pairs.insert(all.pairs.end(), found.pairs.begin(), found.pairs.end());
  }
  return all;
}

}  // namespace meshwright::planner
