// SPDX-License-Identifier: Apache-2.0
// All layouts of a space, one set of parallel sizes after the other: every stage setting is priced
// once, every data setting once, and each pair is put together from the two with a few additions,
// those of evaluate().
#pragma once

#include <limits>
#include <optional>

#include "planner/search/pareto.h"
#include "planner/search/rejection.h"
#include "planner/search/space.h"
#include "sim/step/cost_table.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

// Result of a part of the space. Its size does not depend on the number of evaluated layouts.
struct SearchResult {
  explicit SearchResult(std::size_t limit);
  // `later` follows in the order of enumeration.
  void merge(const SearchResult& later);

  SearchStatistics statistics;
  RejectionTally rejections;
  NotExpressible not_expressible;
  TopList top;  // best layouts; near-duplicates are omitted within each pipeline setting
  ParetoFront pareto;
  TopList closest;  // legal, but too large, least memory first; only when nothing fits
  std::vector<std::string> notes;  // on rare settings that were searched, too
};

// Layouts up to a memory that a search has looked at, and its front: they are not priced again.
struct KnownLayouts {
  Bytes limit;
  std::vector<Candidate> front{};
};

// `limit` bytes of memory a device. Where a layout with something on the host, or with uneven
// stages though the layers divide, is at least 1 % faster than all others, such layouts are among
// the fastest; where nothing else fits, in all of the result. Otherwise they are left out.
SearchResult search_layouts(const Scenario& scenario, const SearchOptions& options, Bytes limit,
                            const KnownLayouts& known = {});

// The space with and without the host, where it leaves that open, and as far as software and
// devices have it: optimizer states, the inputs of attention, and with these those of experts.
SearchSpace with_host(SearchSpace space, const Scenario& scenario);

inline constexpr Seconds kAnyTime = seconds(std::numeric_limits<double>::infinity());

// The fastest layout alone, which may have such settings: no Pareto front, so that whatever is
// slower than the best so far is not priced. `known`: the time of a layout of the space that fits,
// or infinity; a shorter one changes the work, not the answer. Nothing: no layout of the space
// fits.
std::optional<Candidate> fastest_layout(const Scenario& scenario, const SearchOptions& asked,
                                        Bytes limit, Seconds known = kAnyTime);

}  // namespace meshwright::planner
