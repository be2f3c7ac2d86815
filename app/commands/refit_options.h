// SPDX-License-Identifier: Apache-2.0
// What backtest --fit and validate --refit share: the terms by name, what moved, the new file.
#pragma once

#include <string>
#include <vector>

#include "planner/accuracy/refit.h"

namespace meshwright::app {

// "gemm_time_factor, kernel_time_factor, ...".
std::string fit_term_list();
// Throws InputError for a name that is none.
std::vector<planner::FitTerm> fit_terms_named(const std::vector<std::string>& names);

// On stderr: each term before and after, its standard error and how much of it the data settled.
void print_refit(const planner::Refit& refit, const std::string& learnt_from);
// `cluster` with the learnt framework, in a file that did not exist before. `spread`: how far a
// step may be off then, one standard deviation.
void write_refitted(Cluster cluster, const planner::Refit& refit, double spread,
                    const std::string& learnt_from, const std::string& path);

}  // namespace meshwright::app
