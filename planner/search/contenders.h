// SPDX-License-Identifier: Apache-2.0
// The layouts that could win when an input changes, and what each takes under changed inputs.
//
// A flip needs a layout whose step leans on other parts of the machine than the winner's does: the
// fastest few of every tensor-parallel size are looked at beside the plan's own, and of them those
// stay that are shorter in some term of the step than each better one. A winner under changed
// inputs that is none of these is possible; a new search (crossover.h, `exact`) looks for it.
#pragma once

#include <optional>
#include <vector>

#include "planner/search/plan.h"
#include "planner/search/search.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct Timed {
  Layout layout;
  Seconds step_time;
  Bytes peak_memory;
};

// In a fixed order, the plan's winner first.
std::vector<Layout> contenders_of(const Plan& plan, const SearchOptions& options);

// Adds what is not there yet.
void add_layout(std::vector<Layout>& layouts, const Layout& layout);
void add_layouts(std::vector<Layout>& layouts, const Plan& plan);

// The valid ones that fit in the scenario's memory less `memory_headroom`.
std::vector<Timed> timed(const Scenario& scenario, const std::vector<Layout>& layouts,
                         double memory_headroom);

// The fastest of them; of equals the first. Nothing when none fits.
std::optional<Timed> best_of(const Scenario& scenario, const std::vector<Layout>& layouts,
                             double memory_headroom);

}  // namespace meshwright::planner
