// SPDX-License-Identifier: Apache-2.0
// Result of a search: ranked layouts, the Pareto set, and every rejection with its rule.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/step/estimate.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

// Layouts that fell to one rule.
struct Rejection {
  Rule rule = Rule::memory_capacity;
  std::int64_t count = 0;  // number of layouts that the rule rejected
  Infeasible nearest;      // the one that missed by least, relative to what was needed
  std::string sentence;    // sentence with the numbers of that violation
  std::string
      smallest_change;  // the smallest single change that would admit it; empty if none is known
};

struct SearchStatistics {
  std::int64_t enumerated = 0;  // layouts whose sizes multiply to the GPU count
  std::int64_t legal = 0;       // of those, valid and can be expressed for the launcher
  std::int64_t fitting = 0;     // of those, fit in memory
};

// Number of valid layouts that the launcher cannot express, by its reason.
using NotExpressible = std::map<std::string, std::int64_t>;

// The cluster is scaled to the GPUs that were asked for.
struct Plan : Scenario {
  // Fastest first: as many as were asked for, then the rest of the Pareto set. Layouts that differ
  // only in switches (sequence parallel, recompute, ZeRO), less than 0.1 % in time and 1 % in
  // memory, are near-duplicates; only the faster one is listed.
  std::vector<Estimate> ranked;
  std::vector<std::size_t> pareto;    // indices into ranked: no other is faster and smaller
  std::vector<Rejection> rejections;  // most frequent first
  SearchStatistics statistics;
  std::string target;  // the launcher that all layouts can be said to; empty: nobody asked
  NotExpressible not_expressible;
  std::vector<Rejection> closest;  // when nothing fits: the legal layouts that need least memory
  std::vector<std::string> notes;  // assumptions worth a reader's eye
};

// One of several layouts that does not run.
struct Unrunnable {
  std::size_t index = 0;
  std::string sentence;
};
// Makes `layouts`, fastest first, the plan's ranked ones. At the first that does not run, that one.
std::optional<Unrunnable> estimate_ranked(Plan& plan, const std::vector<Layout>& layouts);

}  // namespace meshwright::planner
