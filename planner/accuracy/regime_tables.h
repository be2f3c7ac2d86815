// SPDX-License-Identifier: Apache-2.0
// All sets of a list, predicted as if nobody had seen their software, their cluster or their chip,
// and by what runs of the same machine teach: what the shipped spreads are made of.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "planner/accuracy/left_out.h"
#include "planner/accuracy/regime_fit.h"
#include "planner/accuracy/reliability.h"

namespace meshwright::planner {

struct ListedSet {
  std::string row;   // name of the row in the accuracy list
  std::string file;  // the set's stem
  MeasuredSet set;   // with the software that ran it
};

ClustersOfSets clusters_of(const std::vector<ListedSet>& sets);

// A set by software and kind of model, each piece named; `by_cluster`: by machine, too.
std::vector<ListedSet> pieces_of(const ListedSet& set, bool by_cluster = false);

enum class LeftOut { framework, cluster, device, groups };
inline constexpr std::array kLeftOutNames{
    EnumName{LeftOut::framework, "framework"}, EnumName{LeftOut::cluster, "cluster"},
    EnumName{LeftOut::device, "device"}, EnumName{LeftOut::groups, "groups"}};
constexpr std::string_view name_of(LeftOut v) { return name_in(kLeftOutNames, v); }

// framework: nobody named it. cluster: no fit of it, and no scalars fitted on it alone. device: the
// datasheet's rates, with the software known and not.
std::vector<SetErrors> left_out(LeftOut what, const std::vector<ListedSet>& sets,
                                std::span<const Device> devices);

// For each machine, predicts every group of runs by a fit on its other groups. The prior comes from
// the sets without the machine's cluster and framework.
std::vector<SetErrors> groups_left_out(const std::vector<ListedSet>& sets,
                                       const std::vector<SetErrors>& others);

struct RegimeRow {
  IntervalRegime regime = IntervalRegime::known_chip;
  bool experts = false;
  RegimeSpread spread;
  bool own_data = true;  // false: too few sets; the next regime's stands in
};
struct RegimeTables {
  std::array<std::vector<SetErrors>, kLeftOutNames.size()> tables;  // by LeftOut
  std::vector<SetErrors> judged;  // those that the regimes' spreads are made of
  std::vector<SetCoverage>
      coverage;                 // coverage of these sets, each by spreads fitted without its file
  std::vector<RegimeRow> rows;  // by regime, dense before experts
  std::array<OwnPrior, 2> own_priors;   // dense, experts
  std::vector<std::string> frameworks;  // frameworks with measured runs
};
RegimeTables regime_tables(const std::vector<ListedSet>& sets, std::span<const Device> devices);

// Mean over the sets of a regime, dense and with experts, of the share inside; nothing of no sets.
std::optional<double> pooled_coverage(const RegimeTables& tables, IntervalRegime regime);

// Choices inside the groups of all sets, where the cluster is not known, and where the software is
// not either.
JudgedChoices choices_of(LeftOut what, const std::vector<ListedSet>& sets);

}  // namespace meshwright::planner
