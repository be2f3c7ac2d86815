// SPDX-License-Identifier: Apache-2.0
// What backtest --fit and validate --refit share: the scalars by name, what moved, the new file.
#pragma once

#include <string>
#include <vector>

#include "planner/accuracy/refit.h"

namespace meshwright::app {

// "gemm_time_factor, kernel_time_factor, ...".
std::string framework_scalar_list();
// Throws InputError for a name that is none.
std::vector<FrameworkScalar> framework_scalars_named(const std::vector<std::string>& names);

// On stderr: each scalar before and after, its standard error and how much of it the data settled.
void print_refit(const planner::Refit& refit, const std::string& learnt_from);
// `cluster` with the learnt framework, in a file that did not exist before. `spread`: how far a
// step may be off then, one standard deviation.
void write_refitted(Cluster cluster, const planner::Refit& refit, double spread,
                    const std::string& learnt_from, const std::string& path);

}  // namespace meshwright::app
