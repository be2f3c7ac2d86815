// SPDX-License-Identifier: Apache-2.0
// Looks at every layout of a space and keeps the best, exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "planner/search/pareto.h"
#include "planner/search/plan.h"
#include "sim/layout/fields.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

// Division of layers over stages, in Layout's fields of these names.
struct StageSplit {
  int num_layers_in_first_pipeline_stage = 0;
  int num_layers_in_last_pipeline_stage = 0;
  bool account_for_embedding_in_pipeline_split = false;
  bool account_for_loss_in_pipeline_split = false;
  bool operator==(const StageSplit&) const = default;
};

// Values to try on each axis: space[&Layout::zero_stage] = {0, 1}. An empty list means the default
// that space.h names.
class SearchSpace {
 public:
  template <typename T>
  std::vector<T>& operator[](T Layout::*field) {
    return *find(lists_, field);
  }
  template <typename T>
  const std::vector<T>& operator[](T Layout::*field) const {
    return *find(lists_, field);
  }
  std::vector<StageSplit> stage_splits;

 private:
  template <typename T>
  struct List {
    T Layout::*field;
    std::vector<T> values;
  };
  template <typename... T>
  static std::tuple<List<T>...> one_each(const std::tuple<Field<T>...>& fields) {
    return std::apply(
        [](const auto&... field) {
          return std::tuple{List<T>{field.member, {}}...};
        },
        fields);
  }
  template <typename Lists, typename T>
  static auto* find(Lists& lists, T Layout::*field) {
    std::conditional_t<std::is_const_v<Lists>, const std::vector<T>, std::vector<T>>* found =
        nullptr;
    const auto look = [&](auto& list) {
      if constexpr (requires { list.field == field; }) {
        if (list.field == field) found = &list.values;
      }
    };
    std::apply([&](auto&... list) { (look(list), ...); }, lists);
    return found;
  }

  decltype(one_each(kLayoutFields)) lists_ = one_each(kLayoutFields);
};

// Units of work: some 4 s of one quiet core (planner/search/space_limit.h).
inline constexpr std::int64_t kMostSearchWork = 40'000'000;

// The launcher that is to start what is found: a layout that it cannot say is looked at and
// counted, and never found.
struct SearchTarget {
  std::string name;  // empty: any
  // Why it cannot say a layout; empty: it can. Called by several threads at once.
  std::function<std::string(const Layout&)> refusal{};
};

// Cost tables of one scenario, one a thread, that several searches of it share. Changes no answer.
class SharedTables;
std::shared_ptr<SharedTables> shared_tables(const Scenario& scenario);

struct SearchOptions {
  SearchSpace space;
  int top = 10;                  // fastest layouts to keep; the Pareto set is kept besides
  double memory_headroom = 0.0;  // share of the device's memory to leave free
  // Leave out the time of layouts that proven bounds keep from the answer. Changes no answer.
  bool branch_and_bound = true;
  std::int64_t most_work = kMostSearchWork;  // a space that takes more is refused
  SearchTarget target{};
  std::shared_ptr<SharedTables> tables{};  // not used where the scenario is another one
};

// Memory of a device for a layout of this search.
Bytes usable_memory(const Scenario& scenario, const SearchOptions& options);

// A layout that a search kept, without its estimate.
struct FoundLayout {
  Candidate candidate;
  bool on_front = false;  // belongs to the Pareto front of time and memory
};
struct FoundLayouts {
  Plan plan;                         // all but `ranked` and `pareto`
  std::vector<FoundLayout> layouts;  // fastest first
};

// Deterministic: the same arguments give the same plan, ties broken by the order of enumeration.
// Throws InputError when the space is too large.
Plan search(const Scenario& scenario, const SearchOptions& options);
// The same in two steps: of many thousands of layouts few need an estimate.
FoundLayouts find_layouts(const Scenario& scenario, const SearchOptions& options);
Plan with_estimates(Plan plan, const std::vector<FoundLayout>& layouts,
                    const SearchOptions& options);

}  // namespace meshwright::planner
